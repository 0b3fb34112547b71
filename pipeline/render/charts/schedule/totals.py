"""Charts the totals of a schedule: energy by component, time of the cores, data sent."""

from collections.abc import Sequence

from nestmap.model.multicore.schedule import Schedule, ScheduleEnergy
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.schedule.energy import energy_bars, layer_energy_bars
from nestmap.pipeline.analysis.schedule.names import KIND_LOOKS, STALL_LOOKS
from nestmap.pipeline.analysis.schedule.resource_loads import core_loads, idle_cycles
from nestmap.pipeline.analysis.schedule.tables import BarKind, Traffic
from nestmap.pipeline.analysis.schedule.traffic import core_traffic, wire_traffic
from nestmap.pipeline.format.numbers import (
    bits_unit,
    capacity,
    cycles_unit,
    energy_text,
    energy_unit,
)
from nestmap.pipeline.render.charts.alt_text import bars_text, compared_text, cycles_text
from nestmap.pipeline.render.charts.bars import Drawing, Exact, stacked_chart
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.labels import SENT_KINDS, STALL_LABELS, sent_parts


def energies_chart(names: Sequence[str], energies: Sequence[ScheduleEnergy]) -> Chart:
    """The energies of schedules side by side."""
    bars = energy_bars(names, energies)
    totals = list(zip(names, bars.totals, strict=True))
    summary = compared_text(totals, energy_text) if len(names) > 1 else ""
    return _energy_chart("schedule-energy", "Energy by part", bars, summary)


def layers_chart(schedule: Schedule) -> Chart:
    """The energy of each layer: its nodes, the transfers of its output and of its constants."""
    bars = layer_energy_bars(schedule)
    return _energy_chart("layer-energies", "Energy per layer", bars)


def _energy_chart(name: str, title: str, bars: Bars, summary: str = "") -> Chart:
    return stacked_chart(
        Drawing(
            name=name,
            title=title,
            summary=summary or bars_text(bars, energy_text),
            of="schedule" if name == "schedule-energy" else "layer",
            quantity="Energy",
            unit=energy_unit(max(bars.totals)),
            exact=Exact.ENERGY,
            bars=bars,
        )
    )


def load_bars(schedule: Schedule) -> Bars:
    """The cycles of each core: busy, or idle by reason."""
    loads, idle = core_loads(schedule), idle_cycles(schedule)
    parts = (
        Part("busy", KIND_LOOKS[BarKind.NODE], tuple(float(load.busy) for load in loads)),
        *(
            Part(STALL_LABELS[reason], look, tuple(map(float, idle[:, reason])))
            for reason, look in STALL_LOOKS.items()
        ),
    )
    return Bars(tuple(f"core {x.core.id}: {x.core.name}" for x in loads), parts)


def busy_share(schedule: Schedule) -> float:
    """The share of busy cycles in the time of all cores."""
    whole = len(schedule.problem.accelerator.compute_cores) * schedule.latency
    return int((schedule.end - schedule.start).sum()) / max(whole, 1)


def loads_chart(schedule: Schedule) -> Chart:
    """The time of each core by activity."""
    bars = load_bars(schedule)
    return stacked_chart(
        Drawing(
            name="core-time",
            title="Time of the cores",
            summary=bars_text(bars, cycles_text),
            of="core",
            quantity="Cycles",
            unit=cycles_unit(schedule.latency),
            exact=Exact.CYCLES,
            bars=bars,
        )
    )


def times_chart(named: Sequence[tuple[str, Schedule]]) -> Chart:
    """The busy and idle times of the cores of several schedules, averaged over the cores."""
    found = [load_bars(schedule) for _, schedule in named]
    labels = (part.label for part in found[0].parts)
    parts = (
        Part(label, found[0].parts[i].look, tuple(_mean(bars.parts[i]) for bars in found))
        for i, label in enumerate(labels)
    )
    bars = Bars(tuple(name for name, _ in named), tuple(parts))
    return stacked_chart(
        Drawing(
            name="schedule-latency",
            title="Latency, as a core spends it on average",
            summary=compared_text([(name, x.latency) for name, x in named], cycles_text),
            of="schedule",
            quantity="Cycles",
            unit=cycles_unit(max(bars.totals)),
            exact=Exact.CYCLES,
            bars=bars,
        )
    )


def _mean(part: Part) -> float:
    return sum(part.values) / len(part.values)


def sent_charts(schedule: Schedule) -> tuple[Chart, ...]:
    """Bits over each channel, and from each core to each other one; none if nothing is sent."""
    found = (
        ("sent-wires", "Data over each wire", "wire", wire_traffic(schedule)),
        ("sent-cores", "Data from core to core", "way", core_traffic(schedule)),
    )
    return tuple(_sent_chart(name, title, of, sent) for name, title, of, sent in found if sent)


def _sent_chart(name: str, title: str, of: str, sent: Sequence[Traffic]) -> Chart:
    parts = (
        Part(part.label, part.look, tuple(float(row.bits[kind]) for row in sent))
        for kind, part in zip(SENT_KINDS, sent_parts(), strict=True)
    )
    bars = Bars(tuple(row.name for row in sent), tuple(x for x in parts if any(x.values)))
    return stacked_chart(
        Drawing(
            name=name,
            title=title,
            summary=bars_text(bars, lambda bits: capacity(int(bits))),
            of=of,
            quantity="Data",
            unit=bits_unit(max(bars.totals)),
            exact=Exact.BITS,
            bars=bars,
        )
    )
