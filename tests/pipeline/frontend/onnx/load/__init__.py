"""Tests of pipeline/frontend/onnx/load."""
