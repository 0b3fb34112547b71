"""Reads an ONNX model without weights: nodes, shapes, opsets, functions."""
