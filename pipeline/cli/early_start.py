"""Starts the process that reads an ONNX file before a command imports what it uses itself."""

from __future__ import annotations


def start_reading(network: str) -> None:
    """Starts the process if the network is an ONNX file: it imports onnx meanwhile."""
    if network.lower().endswith(".onnx"):
        from nestmap.pipeline.frontend.onnx_process.client import (  # noqa: PLC0415 (help is fast)
            start_early,
        )

        start_early(network)
