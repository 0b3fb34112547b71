"""The open dimensions of generated networks: defaults, limits and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import InputError
from nestmap.model.errors import suggestion
from nestmap.model.workload.builders import Precision

LARGEST: Final = 2**31 - 1
"""The largest size of a loop or an axis."""


@final
@dataclass(frozen=True)
class Dim:
    """An open dimension: its name, default and largest value."""

    name: str
    default: int
    largest: int = LARGEST


BATCH: Final = Dim("batch", 1)
"""The number of sequences or images computed at once."""

_BITS: Final = (Dim("weight_bits", 8, 64), Dim("activation_bits", 8, 64))


@final
@dataclass(frozen=True)
class Dims:
    """The values of a network's open dimensions; those it does not have are unused.

    Of each of ``batch`` sequences, ``seq`` tokens are computed and attend to ``context`` tokens,
    including the ones computed earlier.
    """

    batch: int
    seq: int
    context: int
    precision: Precision


def sequence(default: int, largest: int = LARGEST) -> tuple[Dim, ...]:
    """The open dimensions of a network that computes all tokens at once."""
    return (BATCH, Dim("seq", default, largest), *_BITS)


def decoding(default: int) -> tuple[Dim, ...]:
    """The open dimensions of a network that computes the next token of a context."""
    return (BATCH, Dim("context", default), *_BITS)


def images() -> tuple[Dim, ...]:
    """The open dimensions of a network for images of a fixed size."""
    return (BATCH, *_BITS)


def read_dims(where: str, known: tuple[Dim, ...], given: Mapping[str, int]) -> Dims:
    """The values of the open dimensions; those not given take their defaults.

    Raises:
        InputError: if a name is unknown or a value is out of range.
    """
    names = {dim.name: dim for dim in known}
    for name, value in given.items():
        if name not in names:
            raise InputError(
                where, f"the unknown dimension {name!r}", suggestion(name, tuple(names))
            )
        largest = names[name].largest
        if type(value) is not int or not 0 < value <= largest:
            raise InputError(
                f"{where}: dimension {name}", f"{value!r}", f"a whole number from 1 to {largest}"
            )
    values = {dim.name: given.get(dim.name, dim.default) for dim in known}
    seq = values.get("seq", 1)
    return Dims(
        batch=values["batch"],
        seq=seq,
        context=values.get("context", seq),
        precision=Precision(weight=values["weight_bits"], activation=values["activation_bits"]),
    )
