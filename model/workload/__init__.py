"""Networks: layers, operators and the tensors between them."""
