"""Reads ONNX files in a process of its own, because the onnx library can crash."""
