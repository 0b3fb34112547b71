"""Reads an ONNX file without the external files of its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx_bytes import EXPECTED, read_onnx_bytes


def load_model(path: Path, where: str | None = None) -> onnx.ModelProto:
    """Reads the model in a file; external tensor data is not opened.

    Args:
        path: the file.
        where: its name in messages (default: the path).

    Raises:
        InputError: if the file cannot be read or is not an ONNX model.
    """
    where = str(path) if where is None else where
    return model_from(read_onnx_bytes(path, where), where)


def model_from(content: bytes, where: str) -> onnx.ModelProto:
    """The model in the content of a file.

    Raises:
        InputError: if it is not an ONNX model.
    """
    try:
        return onnx.ModelProto.FromString(content)
    except DecodeError:
        raise InputError(where, "data that is truncated or not ONNX", EXPECTED) from None
