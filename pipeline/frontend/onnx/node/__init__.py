"""An ONNX node as the converters see it: attributes, tensors, precisions."""
