"""The ONNX front-end: networks as ONNX files or models become workloads."""

from nestmap.pipeline.parsers.onnx.parse import parse_onnx as parse_onnx
