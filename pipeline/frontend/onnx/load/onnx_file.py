"""Reads an ONNX file without its weights, and locates what the onnx library rejects."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import checker, shape_inference, version_converter

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx_bytes import EXPECTED, read_onnx_bytes

# --- finds nodes on which the onnx library crashes instead of rejecting them ---

_LIMIT: Final = 2**31


def is_safe_alone(node: onnx.NodeProto) -> bool:
    """Whether inference handles the node on its own.

    It fails on integers that it silently truncates to 32 bits, on a Split into a number of parts
    other than its outputs, and on a GatherND with a negative number of batch axes.
    """
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "Split" and "num_outputs" in numbers:
        return numbers["num_outputs"] == len(node.output)
    if node.op_type == "GatherND" and numbers.get("batch_dims", 0) < 0:
        return False
    return all(-_LIMIT <= number < _LIMIT for number in numbers.values())


# --- converts exceptions of the onnx library to located input errors ---

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
