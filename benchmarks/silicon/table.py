"""Measured and modelled figures of a chip as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from benchmarks.silicon.eyeriss import Measured, Modelled

_HEAD: Final = """\
| layer | units: chip | model | ms: chip | model | error | no stalls | MB: chip | model | error |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def eyeriss_table(measured: Mapping[str, Measured], found: Mapping[str, Modelled]) -> str:
    """A row for each layer, and the sum."""
    rows = [_row(name, measured[name], found[name]) for name in measured]
    return "\n".join((_HEAD, *rows, _sum(measured.values(), found.values())))


def _row(name: str, chip: Measured, model: Modelled) -> str:
    units = (f"{chip.units}", f"{model.units}")
    return _line(name, units, (chip.milliseconds, model.milliseconds, model.ideal),
                 (chip.buffer, model.buffer))  # fmt: skip


def _sum(measured: Iterable[Measured], found: Iterable[Modelled]) -> str:
    chips, models = tuple(measured), tuple(found)
    times = (
        sum(x.milliseconds for x in chips),
        sum(x.milliseconds for x in models),
        sum(x.ideal for x in models),
    )
    return _line(
        "sum", ("", ""), times, (sum(x.buffer for x in chips), sum(x.buffer for x in models))
    )


def _line(
    name: str,
    units: tuple[str, str],
    times: tuple[float, float, float],
    buffer: tuple[float, float],
) -> str:
    (chip, model, ideal), (chip_bytes, model_bytes) = times, buffer
    cells = (
        name,
        *units,
        f"{chip:.1f}",
        f"{model:.1f}",
        error(chip, model),
        f"{ideal:.1f}",
        f"{chip_bytes:.1f}",
        f"{model_bytes:.1f}",
        error(chip_bytes, model_bytes),
    )
    return f"| {' | '.join(cells)} |"


def error(chip: float, model: float) -> str:
    """How far the model is above the chip, in percent."""
    return f"{model / chip - 1:+.0%}"
