"""Builds the slices of a trace: activity of cores, channels and off-chip memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, final

from nestmap.model.multicore.schedule import TransferKind
from nestmap.pipeline.analysis.schedule.names import KINDS, STREAMED, ScheduleNames
from nestmap.pipeline.util.json import Json


class Process(IntEnum):
    """The groups of tracks, in their order from top to bottom."""

    CORES = 1
    WIRES = 2
    OFFCHIP = 3
    MEMORIES = 4


class Track(NamedTuple):
    """A row of the trace: a core, a channel, or one direction of the off-chip memory."""

    process: Process
    number: int


@final
@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a track from ``start`` to ``end``.

    ``node`` is its computation node, ``transfers`` are its transfers: several for a broadcast.
    """

    track: Track
    start: int
    end: int
    name: str
    category: str
    args: Mapping[str, Json]
    node: int | None = None
    transfers: tuple[int, ...] = ()


READ, WRITTEN = 0, 1
"""The directions of the off-chip memory."""


def all_slices(names: ScheduleNames) -> list[Slice]:
    """The slices of all tracks."""
    return [*_node_slices(names), *_transfer_slices(names), *_stream_slices(names)]


def _node_slices(names: ScheduleNames) -> Iterator[Slice]:
    schedule = names.schedule
    outputs = schedule.tensors.bits
    columns = (x.tolist() for x in (schedule.core, schedule.start, schedule.end))
    for node, (core, start, end) in enumerate(zip(*columns, strict=True)):
        layer, number = names.layer(node), names.number(node)
        args: dict[str, Json] = {
            "node": f"{layer.nest.number}.{number}",
            "layer": layer.nest.name,
            "operator": layer.nest.operator,
            "group": int(layer.groups[number]),
            "ranges": names.ranges(node) or "whole layer",
            "cycles": end - start,
            "output_bits": int(outputs[node]),
            "core_energy_pj": names.onchip(node),
            "offchip_energy_pj": names.offchip(node),
        }
        track = Track(Process.CORES, core)
        yield Slice(track, start, end, layer.nest.name, "node", args, node=node)


def _transfer_slices(names: ScheduleNames) -> Iterator[Slice]:
    """One slice for all transfers of a tensor that take a track at the same time: a broadcast."""
    transfers = names.schedule.transfers
    together: dict[tuple[Track, int, int, int, int], list[int]] = {}
    for row in range(len(transfers)):
        columns = (transfers.tensor, transfers.start, transfers.end, transfers.kind)
        tensor, start, end, kind = (int(column[row]) for column in columns)
        ends = int(transfers.sending[row]), int(transfers.receiving[row])
        for track in _tracks(names, *ends):
            together.setdefault((track, tensor, start, end, kind), []).append(row)
    for (track, tensor, start, end, kind), rows in together.items():
        yield Slice(
            track,
            start,
            end,
            names.tensor(tensor),
            KINDS[TransferKind(kind)],
            _transfer_args(names, rows),
            transfers=tuple(rows),
        )


def _transfer_args(names: ScheduleNames, rows: Sequence[int]) -> dict[str, Json]:
    transfers, tensors = names.schedule.transfers, names.schedule.tensors
    first, chosen = rows[0], list(rows)
    tensor = int(transfers.tensor[first])
    receivers = dict.fromkeys(int(transfers.receiving[row]) for row in rows)
    return {
        "tensor": names.tensor(tensor),
        "kind": KINDS[TransferKind(int(transfers.kind[first]))],
        "from": f"core {names.core(int(transfers.sending[first]))}",
        "to": ", ".join(f"core {names.core(core)}" for core in receivers),
        "for": names.node(int(transfers.node[first])),
        "bits": int(tensors.bits[tensor]),
        "wire_energy_pj": float(transfers.link_energy[chosen].sum()),
        "memory_energy_pj": float(transfers.memory_energy[chosen].sum()),
    }


def _stream_slices(names: ScheduleNames) -> Iterator[Slice]:
    streams = names.schedule.streams
    for row in range(len(streams)):
        columns = (streams.node, streams.sending, streams.receiving, streams.rate)
        node, sending, receiving, rate = (int(column[row]) for column in columns)
        start, end = int(streams.start[row]), int(streams.end[row])
        args: dict[str, Json] = {
            "kind": STREAMED,
            "from": f"core {names.core(sending)}",
            "to": f"core {names.core(receiving)}",
            "for": names.node(node),
            "bits_per_cycle": rate,
            "bits": rate * (end - start),
            "wire_energy_pj": float(streams.link_energy[row]),
        }
        for track in _tracks(names, sending, receiving):
            yield Slice(track, start, end, f"for {names.node(node)}", STREAMED, args)


def _tracks(names: ScheduleNames, sending: int, receiving: int) -> Iterator[Track]:
    """The channels between two cores, and the off-chip memory if it is at one end."""
    for wire in names.path(sending, receiving):
        yield Track(Process.WIRES, wire)
    offchip = names.schedule.problem.accelerator.offchip
    for core, direction in ((sending, READ), (receiving, WRITTEN)):
        if core == offchip:
            yield Track(Process.OFFCHIP, direction)
