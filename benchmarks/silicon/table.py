"""Measured and modelled figures of a chip as tables in Markdown."""

from collections.abc import Mapping
from typing import Final

from benchmarks.silicon.eyeriss import Modelled, total_costs
from benchmarks.silicon.measured import Measured

_TIMES: Final = """\
| layer | units: chip | model | ms: chip | model | error | plain | no stalls |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
_TRAFFIC: Final = """\
| layer | buffer, MB: chip | model | error | plain | DRAM, MB: chip | model | error | plain |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
_SUM: Final = "sum"


def eyeriss_tables(measured: Mapping[str, Measured], found: Mapping[str, Modelled]) -> str:
    """A row for each layer, and the sum: units and time, then traffic."""
    chips, models = dict(measured), dict(found)
    columns = zip(*(x[1:] for x in measured.values()), strict=True)
    chips[_SUM] = Measured(0, *(sum(column) for column in columns))
    models[_SUM] = Modelled(
        units=0,
        ideal=sum(x.ideal for x in found.values()),
        costs=total_costs(x.costs for x in found.values()),
        plain=total_costs(x.plain for x in found.values()),
    )
    times = [_time(name, chip, models[name]) for name, chip in chips.items()]
    traffic = [_traffic(name, chip, models[name]) for name, chip in chips.items()]
    return "\n".join((_TIMES, *times, "", _TRAFFIC, *traffic))


def _time(name: str, chip: Measured, model: Modelled) -> str:
    units = ("", "") if name == _SUM else (f"{chip.units}", f"{model.units}")
    compared = _compared(chip.milliseconds, model.costs.milliseconds, model.plain.milliseconds)
    return _line(name, *units, *compared, f"{model.ideal:.1f}")


def _traffic(name: str, chip: Measured, model: Modelled) -> str:
    buffer = _compared(chip.buffer, model.costs.buffer, model.plain.buffer)
    return _line(name, *buffer, *_compared(chip.dram, model.costs.dram, model.plain.dram))


def _compared(chip: float, model: float, plain: float) -> tuple[str, ...]:
    return f"{chip:.1f}", f"{model:.1f}", error(chip, model), f"{plain:.1f}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def error(chip: float, model: float) -> str:
    """How far the model is above the chip, in percent."""
    return f"{model / chip - 1:+.0%}"
