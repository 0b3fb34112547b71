"""Measured and modelled figures of a chip as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from benchmarks.silicon.eyeriss import Measured, Modelled

_HEAD: Final = """\
| layer | units: chip | model | ms: chip | model | error | whole tiles | no stalls | \
MB: chip | model | error | whole tiles |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def eyeriss_table(measured: Mapping[str, Measured], found: Mapping[str, Modelled]) -> str:
    """A row for each layer, and the sum."""
    rows = [_row(name, measured[name], found[name]) for name in measured]
    return "\n".join((_HEAD, *rows, _sum(measured.values(), found.values())))


def _row(name: str, chip: Measured, model: Modelled) -> str:
    return _line((name, f"{chip.units}", f"{model.units}"), chip, model)


def _sum(measured: Iterable[Measured], found: Iterable[Modelled]) -> str:
    chips, models = tuple(measured), tuple(found)
    chip = Measured(0, sum(x.milliseconds for x in chips), sum(x.buffer for x in chips))
    model = Modelled(
        units=0,
        milliseconds=sum(x.milliseconds for x in models),
        ideal=sum(x.ideal for x in models),
        buffer=sum(x.buffer for x in models),
        whole=(sum(x.whole[0] for x in models), sum(x.whole[1] for x in models)),
    )
    return _line(("sum", "", ""), chip, model)


def _line(first: tuple[str, str, str], chip: Measured, model: Modelled) -> str:
    cells = (
        *first,
        f"{chip.milliseconds:.1f}",
        f"{model.milliseconds:.1f}",
        error(chip.milliseconds, model.milliseconds),
        f"{model.whole[0]:.1f}",
        f"{model.ideal:.1f}",
        f"{chip.buffer:.1f}",
        f"{model.buffer:.1f}",
        error(chip.buffer, model.buffer),
        f"{model.whole[1]:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def error(chip: float, model: float) -> str:
    """How far the model is above the chip, in percent."""
    return f"{model / chip - 1:+.0%}"
