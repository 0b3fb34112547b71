"""Networks and machines to reckon with by hand: layers in a line, row by row."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nestmap.model import ComputeCore, Counting, Link, Loop, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.allocation import AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import CnCosts
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, TensorAxis, TensorUse
from nestmap.model.multicore.cn_workload import CnEdges, CnWorkload
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions, ScheduleProblem
from nestmap.model.workload.affine import Term
from tests.search.multicore.schedule.machines import Costs, compute, link, memory

OFF = 9
"""The number of the core off the chip."""


class Row(NamedTuple):
    """A layer: bits of a row that it writes, and of its weights (0: it has none)."""

    output: int
    weights: int = 0


def line(layers: Sequence[Row], rows: int = 1, image: int = 8) -> CnWorkload:
    """Layers in a line: row ``i`` of each reads row ``i`` of the one before.

    ``image`` are the bits of a row that the first one reads.
    """
    reads = [image, *(layer.output for layer in layers)]
    made = [_layer(n, rows, layer, reads[n]) for n, layer in enumerate(layers)]
    firsts = [(layer * rows, row) for layer in range(len(made)) for row in range(rows - 1)]
    chains = [(first + row, first + row + 1, -1, 0) for first, row in firsts]
    data = [
        (n * rows + i, (n + 1) * rows + i, 0, layers[n].output)
        for n in range(len(made) - 1)
        for i in range(rows)
    ]
    columns = np.asarray([*chains, *data], dtype=np.int64).reshape(-1, 4).T
    return CnWorkload("line", tuple(made), CnEdges(*columns), Counting.EXACT)


def _layer(number: int, rows: int, layer: Row, reads: int) -> CnLayer:
    row = TensorAxis(terms=(Term(dimension="Y"),), size=rows)
    one = TensorAxis(terms=(), size=1)
    weights = TensorUse(operand="W", axes=(one,), precision=layer.weights, constant=True)
    nest = LayerNest(
        name=f"n{number}",
        number=number,
        operator="Layer",
        loops=(Loop(dimension="Y", size=rows),),
        output=TensorUse(operand="O", axes=(row,), precision=layer.output),
        inputs=(
            TensorUse(operand="I", axes=(row,), precision=reads),
            *((weights,) if layer.weights else ()),
        ),
    )
    outer = (Loop(dimension="Y", size=rows),) if rows > 1 else ()
    return CnLayer(nest=nest, loops=nest.loops, outer=outer)


WIDE = Costs(8, 0.5, 2.0)


def core(number: int, size: int = 10**6) -> ComputeCore:
    """A core with one memory for everything."""
    return compute(number, [memory("buffer", ("I1", "I2", "O"), size)])


def machine(
    *cores: ComputeCore, out: Costs = WIDE, back: Costs = WIDE, between: Costs | None = None
) -> MultiCoreAccelerator:
    """Cores that are linked to the one off the chip, and to one another if ``between`` is given."""
    far = StorageCore(id=OFF, name="dram", memories=(memory("dram", ("I1", "I2", "O")),))
    links: list[Link] = []
    for x in cores:
        links += [link((OFF, x.id), out), link((x.id, OFF), back)]
        if between is not None:
            links += [link((x.id, y.id), between) for y in cores if y.id != x.id]
    return MultiCoreAccelerator(
        name="hand-made", cores=(*cores, far), offchip=OFF, links=tuple(links)
    )


class Costing(NamedTuple):
    """What each node takes, and what is streamed (bit 0: the output, bit 1: the rows read)."""

    runtime: int = 10
    onchip: float = 5.0
    offchip: float = 0.0
    streamed: int = 0
    rates: tuple[int, int] = (0, 0)


USUAL = Costing()


def problem(
    nodes: CnWorkload,
    accelerator: MultiCoreAccelerator,
    costing: Costing = USUAL,
    rule: CandidateRule = CandidateRule.LATENCY,
    prefetch: tuple[str, ...] = (),
) -> ScheduleProblem:
    """A problem in which all nodes cost the same, and each layer may run on each core."""
    cores = tuple(x.id for x in accelerator.compute_cores)
    one = np.ones((1, len(cores)), dtype=np.int64)
    genes = [
        NodeGroup(layer=n, group=0, cores=tuple(sorted(cores))) for n in range(len(nodes.layers))
    ]
    counts = [layer.tiling.count for layer in nodes.layers]
    return ScheduleProblem(
        accelerator=accelerator,
        nodes=nodes,
        space=AllocationSpace(tuple(genes), np.repeat(np.arange(len(genes)), counts)),
        costs=CnCosts(
            kind=np.zeros(len(nodes), dtype=np.int64),
            cores=cores,
            runtime=one * costing.runtime,
            onchip=np.full(one.shape, costing.onchip),
            offchip=np.full(one.shape, costing.offchip),
            streamed=one * costing.streamed,
            read_rate=one * costing.rates[0],
            write_rate=one * costing.rates[1],
        ),
        options=ScheduleOptions(rule=rule, prefetch=prefetch),
    )
