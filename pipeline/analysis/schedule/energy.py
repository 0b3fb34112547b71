"""Breaks the energy of schedules down by component and layer."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from nestmap.model.multicore.schedule import Schedule, ScheduleEnergy, TransferKind
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.schedule.gantt import layers_of_events
from nestmap.pipeline.analysis.schedule.link_occupancy import FIRST_TRANSFER
from nestmap.pipeline.analysis.schedule.names import KIND_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, Floats, Ints
from nestmap.pipeline.format.palette import Look

_CHANNELS: Final = "/////"


class _Kind(NamedTuple):
    """A part of :class:`~nestmap.model.multicore.schedule.ScheduleEnergy`."""

    field: str
    label: str
    kind: BarKind
    hatch: str = ""

    @property
    def look(self) -> Look:
        """The colour of the kind, hatched on channels."""
        return KIND_LOOKS[self.kind]._replace(hatch=self.hatch)


_KINDS: Final = (
    _Kind("computation", "computation", BarKind.NODE),
    _Kind("streaming", "streams: off-chip memory", BarKind.STREAM),
    _Kind("streaming_links", "streams: channels", BarKind.STREAM, _CHANNELS),
    _Kind("constant_memory", "constants: memories", BarKind.CONSTANT),
    _Kind("constant_links", "constants: channels", BarKind.CONSTANT, _CHANNELS),
    _Kind("activation_memory", "activations: memories", BarKind.ACTIVATION),
    _Kind("activation_links", "activations: channels", BarKind.ACTIVATION, _CHANNELS),
    _Kind("eviction_memory", "evictions: memories", BarKind.EVICTION),
    _Kind("eviction_links", "evictions: channels", BarKind.EVICTION, _CHANNELS),
    _Kind("result_memory", "results: memories", BarKind.RESULT),
    _Kind("result_links", "results: channels", BarKind.RESULT, _CHANNELS),
)
_SENT: Final = {
    TransferKind.CONSTANT: ("constant_memory", "constant_links"),
    TransferKind.ACTIVATION: ("activation_memory", "activation_links"),
    TransferKind.EVICTION: ("eviction_memory", "eviction_links"),
    TransferKind.RESULT: ("result_memory", "result_links"),
}


def energy_bars(names: Sequence[str], energies: Sequence[ScheduleEnergy]) -> Bars:
    """A bar for each schedule, by component (pJ); components that are always 0 are left out."""
    parts = [energy.parts for energy in energies]
    found = {kind.field: np.array([part[kind.field] for part in parts]) for kind in _KINDS}
    return Bars(tuple(names), _parts(found))


def layer_energy_bars(schedule: Schedule) -> Bars:
    """A bar for each layer, by component (pJ); they add up to the energy of the schedule.

    A transfer counts for the layer that produces the tensor, constants for the layer that reads
    them first.
    """
    names = tuple(layer.nest.name for layer in schedule.problem.nodes.layers)
    return Bars(names, _parts(_by_layer(schedule)))


def _by_layer(schedule: Schedule) -> dict[str, Floats]:
    """The energy of each component, one value for each layer."""
    problem, sent, streams = schedule.problem, schedule.transfers, schedule.streams
    columns = np.array([problem.costs.column(core) for core in schedule.core.tolist()])
    at = problem.costs.kind, columns.astype(np.int64)
    nodes, moved = np.arange(len(schedule.core)), np.arange(len(sent))
    layer = _layers(schedule, BarKind.NODE, nodes)
    count = len(problem.nodes.layers)
    found = {
        "computation": _summed(layer, problem.costs.onchip[at], count),
        "streaming": _summed(layer, problem.costs.offchip[at], count),
        "streaming_links": _summed(
            _layers(schedule, BarKind.STREAM, np.arange(len(streams))), streams.link_energy, count
        ),
    }
    for kind, (memory, links) in _SENT.items():
        rows = moved[sent.kind == kind]
        layer = _layers(schedule, BarKind(kind + FIRST_TRANSFER), rows)
        found[memory] = _summed(layer, sent.memory_energy[rows], count)
        found[links] = _summed(layer, sent.link_energy[rows], count)
    return found


def _layers(schedule: Schedule, kind: BarKind, events: Ints) -> Ints:
    return layers_of_events(schedule, np.full(len(events), int(kind)), events)


def _summed(layer: Ints, energies: Floats, count: int) -> Floats:
    found: Floats = np.bincount(layer, weights=energies, minlength=count).astype(np.float64)
    return found


def _parts(found: dict[str, Floats]) -> tuple[Part, ...]:
    """The components that are present."""
    return tuple(
        Part(kind.label, kind.look, tuple(found[kind.field].tolist()))
        for kind in _KINDS
        if found[kind.field].any()
    )
