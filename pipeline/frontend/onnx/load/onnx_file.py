"""Reads an ONNX file without the external files of its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from nestmap.model import InputError

_EXPECTED = "an ONNX model (a file that onnx.save wrote)"


def load_model(path: Path) -> onnx.ModelProto:
    """Reads the model in a file; external tensor data is not opened.

    Raises:
        InputError: if the file cannot be read or is not an ONNX model.
    """
    where = str(path)
    try:
        return onnx.ModelProto.FromString(path.read_bytes())
    except FileNotFoundError:
        raise InputError(where, "no such file", _EXPECTED) from None
    except IsADirectoryError:
        raise InputError(where, "a directory", _EXPECTED) from None
    except OSError as error:
        raise InputError(
            where, f"a file that cannot be read ({error.strerror})", _EXPECTED
        ) from None
    except DecodeError:
        raise InputError(where, "data that is truncated or not ONNX", _EXPECTED) from None
