"""Tests of pipeline/frontend/onnx_export."""
