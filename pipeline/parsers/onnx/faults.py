"""Turns what the onnx library raises about a model into located input errors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from onnx import checker, shape_inference

from nestmap.model import InputError


@contextmanager
def located(where: str, action: str) -> Generator[None]:
    """Raises an :class:`InputError` where the onnx library gives up on a model.

    Args:
        where: the model, for messages.
        action: what was asked of the library: ``shape inference``.
    """
    try:
        yield
    except (
        shape_inference.InferenceError,
        checker.ValidationError,
        RuntimeError,
        ValueError,  # includes text that is not UTF-8
        TypeError,
    ) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(where, f"{action} fails: {reason}", "a valid ONNX model") from None
