"""Reads an ONNX model without its weights: nodes, shapes, operator versions, functions."""
