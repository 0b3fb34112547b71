"""The open dimensions of generated networks: defaults, limits and values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import InputError
from nestmap.model.errors import suggestion
from nestmap.model.workload.builders import Precision

LARGEST: Final = 2**31 - 1
"""The largest size of a loop or an axis."""


_LARGEST_IMAGE: Final = 2**14


@final
@dataclass(frozen=True)
class Dim:
    """An open dimension: its name, default and values, from ``least`` in steps of ``step``."""

    name: str
    default: int
    largest: int = LARGEST
    least: int = 1
    step: int = 1

    def is_value(self, value: object) -> bool:
        """Whether it may have this value."""
        return (
            type(value) is int
            and self.least <= value <= self.largest
            and (value - self.least) % self.step == 0
        )

    @property
    def values_text(self) -> str:
        """What it may be, for messages."""
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"a whole number from {self.least} to {self.largest}{steps}"


BATCH: Final = Dim("batch", 1)
"""The number of sequences or images computed at once."""

_BITS: Final = (Dim("weight_bits", 8, 64), Dim("activation_bits", 8, 64))


@final
@dataclass(frozen=True)
class Dims:
    """The values of a network's open dimensions; those it does not have are unused.

    Of each of ``batch`` sequences, ``seq`` tokens are computed and attend to ``context`` tokens,
    including the ones computed earlier. An image has ``size`` x ``size`` pixels. ``where`` is the
    network in messages.
    """

    where: str
    batch: int
    size: int
    seq: int
    context: int
    precision: Precision

    @property
    def image(self) -> tuple[int, int, int, int]:
        """Batch, colors, height and width of the image."""
        return (self.batch, 3, self.size, self.size)


def sequence(default: int, largest: int = LARGEST) -> tuple[Dim, ...]:
    """The open dimensions of a network that computes all tokens at once."""
    return (BATCH, Dim("seq", default, largest), *_BITS)


def decoding(default: int) -> tuple[Dim, ...]:
    """The open dimensions of a network that computes the next token of a context."""
    return (BATCH, Dim("context", default), *_BITS)


def images(size: int, *, least: int = 1, step: int = 1) -> tuple[Dim, ...]:
    """The open dimensions of a network for square images."""
    return (BATCH, Dim("size", size, _LARGEST_IMAGE, least, step), *_BITS)


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
        if not names[name].is_value(value):
            raise InputError(f"{where}: dimension {name}", f"{value!r}", names[name].values_text)
    values = {dim.name: given.get(dim.name, dim.default) for dim in known}
    seq = values.get("seq", 1)
    return Dims(
        where=where,
        batch=values["batch"],
        size=values.get("size", 1),
        seq=seq,
        context=values.get("context", seq),
        precision=Precision(weight=values["weight_bits"], activation=values["activation_bits"]),
    )
