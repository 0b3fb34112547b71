"""Writes networks with split layers as ONNX models."""
