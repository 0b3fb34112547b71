"""Tests of pipeline/frontend/onnx/vector."""
