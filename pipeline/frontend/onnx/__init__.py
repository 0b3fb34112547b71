"""The ONNX front-end, which converts ONNX files and models to workloads."""

from nestmap.pipeline.frontend.onnx.parse import parse_onnx as parse_onnx
