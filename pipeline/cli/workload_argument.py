"""Reads the network of a command, with the values that its file leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nestmap.model import InputError, Workload, with_densities
from nestmap.pipeline.cli.options.common import WorkloadOptions
from nestmap.pipeline.frontend.read import read_workload

OPTION: Final = "--dim"

DENSITY: Final = "--density"

_EXPECTED_DENSITY: Final = "a name and a share above 0 and at most 1, as in I=0.4 or conv1.W=0.3"
_EXPECTED: Final = "a name and a whole number from 1 to 2147483647, as in batch=1"


def read_given_workload(options: WorkloadOptions) -> Workload:
    """Reads the network that the options of a command name.

    Raises:
        InputError: where the file, the name or an option is invalid.
    """
    workload = read_workload(
        options.name,
        parse_dims(options.dims),
        options.float_bits,
        measures_density=options.measure_density,
    )
    return with_densities(workload, parse_densities(options.density))


def parse_densities(texts: Sequence[str]) -> dict[str, float]:
    """The densities by name in ``["I=0.4", "conv1.W=0.3"]``.

    Raises:
        InputError: where a text cannot be parsed, or two texts contradict each other.
    """
    densities: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.rpartition("="))
        try:
            density = float(number)
        except ValueError:
            density = 0.0
        if not name or not 0 < density <= 1:
            raise InputError(DENSITY, repr(text), _EXPECTED_DENSITY)
        if densities.setdefault(name, density) != density:
            found = f"{name}={densities[name]:g} and {name}={density:g}"
            raise InputError(DENSITY, found, "one density for a name")
    return densities


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
