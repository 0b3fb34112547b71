"""Small problems by hand: layers one after the other, on cores that a bus joins."""

from collections.abc import Sequence

import numpy as np

from nestmap.model import Counting, Loop, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import CnCosts
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, TensorAxis, TensorUse
from nestmap.model.multicore.cn_workload import CnEdges, CnWorkload
from nestmap.model.multicore.schedule import ScheduleOptions, ScheduleProblem
from nestmap.model.workload.affine import Term
from tests.search.multicore.schedule.machines import Costs, compute, memory, wired_bus

WHOLE = ("I1", "I2", "O")


def _use(operand: str, size: int, constant: bool) -> TensorUse:
    axis = TensorAxis(terms=(Term(dimension="K"),), size=size)
    return TensorUse(operand=operand, axes=(axis,), precision=8, constant=constant)


def _layer(number: int, size: int) -> CnLayer:
    loops = (Loop(dimension="K", size=size),)
    nest = LayerNest(
        name=f"layer{number}",
        number=number,
        operator="Layer",
        loops=loops,
        output=_use("O", size, constant=False),
        inputs=(_use("I", size, constant=False), _use("W", size, constant=True)),
    )
    return CnLayer(nest=nest, loops=loops)


def _network(layers: int, edges: Sequence[tuple[int, int]], size: int) -> CnWorkload:
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    nothing = np.zeros(len(ends), dtype=np.int64)
    columns = CnEdges(ends[:, 0], ends[:, 1], nothing, nothing + 8 * size)
    made = tuple(_layer(number, size) for number in range(layers))
    return CnWorkload("by hand", made, columns, Counting.EXACT)


def machine(cores: int, bandwidth: int, room: int = 10**9) -> MultiCoreAccelerator:
    """Equal cores and the one off the chip on a bus."""
    levels = [memory("m", WHOLE, room)]
    off = StorageCore(id=cores, name="off", memories=(memory("dram", WHOLE),))
    costs = Costs(bandwidth, 0.0, 0.0)
    return MultiCoreAccelerator(
        name="by hand",
        cores=(*(compute(number, levels) for number in range(cores)), off),
        offchip=cores,
        buses=(wired_bus(range(cores + 1), costs),),
    )


def problem(
    runtimes: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    size: int = 8,
    bandwidth: int = 8,
) -> ScheduleProblem:
    """Layers with a runtime for each core (-1: not there), each of one node; who reads whom.

    All tensors have so many bytes.
    """
    runtime = np.asarray(runtimes, dtype=np.int64)
    cores = tuple(range(runtime.shape[1]))
    nothing, zero = np.zeros_like(runtime), np.zeros(runtime.shape)
    genes = tuple(NodeGroup(layer=x, group=0, cores=cores) for x in range(len(runtime)))
    return ScheduleProblem(
        accelerator=machine(len(cores), bandwidth),
        nodes=_network(len(runtime), edges, size),
        space=AllocationSpace(genes, np.arange(len(genes))),
        costs=CnCosts(np.arange(len(genes)), cores, runtime, zero, zero, nothing, nothing, nothing),
        options=ScheduleOptions(),
    )
