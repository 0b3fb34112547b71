"""Tests of pipeline/frontend/onnx/operators."""
