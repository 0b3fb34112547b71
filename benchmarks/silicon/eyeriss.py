"""Eyeriss: what nestmap says of its networks with their row-stationary mappings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

from benchmarks.silicon.measured import DATA, Network
from nestmap.model import Accelerator, CostModelEvaluation, Counting
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload

REST: Final = " rest"
"""The end of the names of layers that are the last, smaller strip of rows of another one."""

_CYCLES_PER_MS: Final = 200e3
_BYTES_PER_ACCESS: Final = {"buffer": 8, "dram": 2000}
"""All ports of a memory have one width."""


class Costs(NamedTuple):
    """What nestmap says of a layer: time in ms, accesses of memories in MB."""

    milliseconds: float
    buffer: float
    dram: float


class Modelled(NamedTuple):
    """The same with units, and ``ideal``: the ms without waiting for data.

    ``plain`` are the costs of ZigZag's model: by its counting, with memories that load whole tiles
    whenever a window moves, read the zeros that sums begin with, and compress nothing.
    """

    units: int
    ideal: float
    costs: Costs
    plain: Costs


def modelled(network: Network) -> dict[str, Modelled]:
    """The figures of all layers, by name; strips of a layer are added up."""
    workload, mapping = DATA / network.workload, DATA / network.mapping
    chip = read_accelerator(DATA / "accelerator.yaml")
    found, plain = (replay(workload, x, mapping).layers for x in (chip, _plain(chip)))
    sizes = {x.name: x.sizes for x in read_workload(workload).layers}
    parts: defaultdict[str, list[Modelled]] = defaultdict(list)
    for x, y in zip(found, plain, strict=True):
        name = x.cme.layer
        parts[name.removesuffix(REST)].append(_figures(x.cme, y.cme, sizes[name]))
    return {name: _together(strips) for name, strips in parts.items()}


def total_costs(parts: Iterable[Costs]) -> Costs:
    """The sum of costs."""
    columns = zip(*parts, strict=True)
    return Costs(*(sum(column) for column in columns))


def _together(strips: Sequence[Modelled]) -> Modelled:
    """The figures of strips that run one after the other; the units are those of full strips."""
    return Modelled(
        units=max(x.units for x in strips),
        ideal=sum(x.ideal for x in strips),
        costs=total_costs(x.costs for x in strips),
        plain=total_costs(x.plain for x in strips),
    )


def _plain(chip: Accelerator) -> Accelerator:
    """The chip as ZigZag's model has it."""
    memories = tuple(
        copy_with(
            x, {"instance": copy_with(x.instance, {"window_reuse": False}), "compression": ()}
        )
        for x in chip.memories
    )
    plain = copy_with(chip, {"memories": memories, "free_first_sum": False})
    return plain.counted(Counting.REFERENCE)


def _figures(
    cme: CostModelEvaluation, plain: CostModelEvaluation, sizes: Mapping[Dimension, int]
) -> Modelled:
    factors = cme.spatial_mapping.factors
    return Modelled(
        units=prod(min(factors.get(d, 1), n) for d, n in sizes.items()),
        ideal=cme.ideal_temporal_cycles / _CYCLES_PER_MS,
        costs=_costs(cme),
        plain=_costs(plain),
    )


def _costs(cme: CostModelEvaluation) -> Costs:
    return Costs(
        milliseconds=cme.latency0 / _CYCLES_PER_MS,
        buffer=_megabytes(cme, "buffer"),
        dram=_megabytes(cme, "dram"),
    )


def _megabytes(cme: CostModelEvaluation, memory: str) -> float:
    """MB read from a memory and written to it."""
    accesses = sum(sum(x.costs.accesses) for x in cme.levels if x.memory == memory)
    return accesses * _BYTES_PER_ACCESS[memory] / 1e6
