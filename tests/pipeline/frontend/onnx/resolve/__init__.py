"""Tests of pipeline/frontend/onnx/resolve."""
