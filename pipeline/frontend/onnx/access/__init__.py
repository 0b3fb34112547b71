"""Which elements of its inputs an ONNX operator reads."""
