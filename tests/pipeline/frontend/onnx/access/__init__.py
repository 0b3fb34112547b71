"""Tests of pipeline/frontend/onnx/access."""
