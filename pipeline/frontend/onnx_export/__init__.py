"""Writes split networks as ONNX models."""
