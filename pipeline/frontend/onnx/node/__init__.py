"""An ONNX node as converters see it: attributes, tensors, precisions."""
