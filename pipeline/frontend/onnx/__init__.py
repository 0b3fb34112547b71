"""The ONNX front-end: networks as ONNX files or models become workloads."""

from nestmap.pipeline.frontend.onnx.parse import parse_onnx as parse_onnx
