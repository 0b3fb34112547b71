"""Reads the network of a command, with the values that its file leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import InputError, Workload
from nestmap.pipeline.cli.options.common import WorkloadOptions
from nestmap.pipeline.frontend.read import read_workload

OPTION: Final = "--dim"

_EXPECTED: Final = "a name and a whole number from 1 to 2147483647, as in batch=1"


def read_given_workload(options: WorkloadOptions) -> Workload:
    """Reads the network that the options of a command name.

    Raises:
        InputError: where the file, the name or an option is invalid.
    """
    return read_workload(options.name, parse_dims(options.dims), options.float_bits)


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """The sizes by name in ``["batch=1", "seq=384"]``.

    Raises:
        InputError: where a text cannot be parsed, or two texts contradict each other.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, size = _dim(text)
        if dims.setdefault(name, size) != size:
            found = f"{name}={dims[name]} and {name}={size}"
            raise InputError(OPTION, found, "one size for a dimension")
    return dims


def _dim(text: str) -> tuple[str, int]:
    """A dimension and its size; a name may contain an equals sign (``2*n=m``), a size does not."""
    name, _, number = (part.strip() for part in text.rpartition("="))
    digits = number.isascii() and number.isdigit() and len(number) <= 10
    if not name or not digits or not 0 < int(number) < 2**31:
        raise InputError(OPTION, repr(text), _EXPECTED)
    return name, int(number)
