"""Tests of the ONNX front-end."""
