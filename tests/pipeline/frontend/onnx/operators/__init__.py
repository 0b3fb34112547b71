"""Tests of pipeline/frontend/onnx/array."""
