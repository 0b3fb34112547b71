"""Tests of pipeline/frontend/onnx/node."""
