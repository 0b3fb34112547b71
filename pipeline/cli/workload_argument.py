"""Reads the network of a command, with the values that its file leaves open."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Final, NamedTuple, TypeVar

from nestmap.model import InputError, Workload, with_densities, with_sum_bits
from nestmap.pipeline.cli.options.common import WorkloadOptions
from nestmap.pipeline.frontend.onnx_bytes import InputValue
from nestmap.pipeline.frontend.read.workload import read_workload

N = TypeVar("N", int, float, InputValue)


class _Option(NamedTuple):
    """An option that gives numbers by name, and what is right for it."""

    flag: str
    expected: str
    once: str


DIM: Final = _Option(
    "--dim",
    "a name and a whole number from 1 to 2147483647, as in batch=1",
    "one size for a dimension",
)
DENSITY: Final = _Option(
    "--density",
    "a name and a share above 0 and at most 1, as in I=0.4 or conv1.W=0.3",
    "one density for a name",
)


VALUE: Final = _Option(
    "--value",
    "the name of an input and true, false or a number, as in use_cache=true",
    "one value for an input",
)


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
        values=parse_values(options.values),
        trust_shapes=options.trust_shapes,
    )
    if options.sum_bits is not None:
        workload = with_sum_bits(workload, options.sum_bits)
    return with_densities(workload, parse_densities(options.density))


def parse_densities(texts: Sequence[str]) -> dict[str, float]:
    """The densities by name in ``["I=0.4", "conv1.W=0.3"]``.

    Raises:
        InputError: where a text cannot be parsed, or two texts contradict each other.
    """
    return _by_name(DENSITY, texts, _density)


def parse_dims(texts: Sequence[str]) -> dict[str, int]:
    """The sizes by name in ``["batch=1", "seq=384"]``.

    Raises:
        InputError: where a text cannot be parsed, or two texts contradict each other.
    """
    return _by_name(DIM, texts, _size)


def parse_values(texts: Sequence[str]) -> dict[str, InputValue]:
    """The values by name in ``["use_cache=true", "n=12"]``.

    Raises:
        InputError: where a text cannot be parsed, or two texts contradict each other.
    """
    return _by_name(VALUE, texts, _value)


def _by_name(
    option: _Option, texts: Sequence[str], parse: Callable[[str], N | None]
) -> dict[str, N]:
    """The numbers by name; a name may contain an equals sign (``2*n=m``), a number does not."""
    found: dict[str, N] = {}
    for text in texts:
        name, _, written = (part.strip() for part in text.rpartition("="))
        number = parse(written)
        if not name or number is None:
            raise InputError(option.flag, repr(text), option.expected)
        if found.setdefault(name, number) != number:
            both = f"{name}={found[name]} and {name}={number}"
            raise InputError(option.flag, both, option.once)
    return found


def _size(text: str) -> int | None:
    digits = text.isascii() and text.isdigit() and len(text) <= 10
    return int(text) if digits and 0 < int(text) < 2**31 else None


def _value(text: str) -> InputValue | None:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _density(text: str) -> float | None:
    try:
        density = float(text)
    except ValueError:
        return None
    return density if 0 < density <= 1 else None
