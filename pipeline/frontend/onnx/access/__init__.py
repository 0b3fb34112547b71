"""Determines which elements of its inputs an ONNX operator reads."""
