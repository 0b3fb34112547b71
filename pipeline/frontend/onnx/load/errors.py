"""Converts exceptions of the onnx library to located input errors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from google.protobuf.message import DecodeError, EncodeError
from onnx import checker, shape_inference, version_converter

from nestmap.model import InputError

LIBRARY_ERRORS: Final = (
    shape_inference.InferenceError,
    checker.ValidationError,
    version_converter.ConvertError,
    DecodeError,  # these two also for subgraphs nested too deeply
    EncodeError,
    RuntimeError,
    ValueError,  # includes text that is not UTF-8
    TypeError,
    KeyError,  # element types that do not exist
    MemoryError,
)
"""The exceptions that the onnx library raises about a model that it does not accept."""


@contextmanager
def locate_errors(where: str, action: str) -> Generator[None]:
    """Converts exceptions of the onnx library in the block to an :class:`InputError`.

    Args:
        where: the model, for messages.
        action: what the library does, such as ``shape inference``.
    """
    try:
        yield
    except LIBRARY_ERRORS as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(where, f"{action} fails: {reason}", "a valid ONNX model") from None
