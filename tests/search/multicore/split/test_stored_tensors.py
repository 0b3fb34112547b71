"""Tensors that outermost memories compress: their bits in memories and between cores."""

from collections.abc import Sequence
from math import ceil
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.zeros import stored_bits
from nestmap.model import Compression, MemoryLevel, MultiCoreAccelerator, Workload
from nestmap.model.base import copy_with
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.builders import conv2d, network
from nestmap.model.workload.densities import with_densities
from nestmap.pipeline.stages.multicore.intra_core import IntraCoreMappingStage
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.search.multicore.schedule.evaluator import schedule
from nestmap.search.multicore.split.split_workload import split_workload, top_formats
from tests.model.multicore.cores import buffer, core, star
from tests.search.multicore.schedule.checker import violations
from tests.search.multicore.split.networks import networks
from tests.zeros import bitmask, run_length

WHOLE: Final = SplitOptions()
ROWS: Final = SplitOptions(hints=((HintLoop(dimension="OY"),),))
ALL: Final = tuple(bitmask(x) for x in ("I1", "I2", "O"))
PACKED: Final = 1 + 0.25 * 8
"""Bits of an element of 8 bit, of which a quarter is not zero, behind a bit of a mask."""


def packing(level: MemoryLevel, formats: Sequence[Compression]) -> MemoryLevel:
    """The memory with these formats."""
    return copy_with(level, {"compression": tuple(formats)})


def machine(
    *formats: Sequence[Compression], offchip: Sequence[Compression] = ALL
) -> MultiCoreAccelerator:
    """A core for each of the formats of its only memory, and the memory off the chip."""
    cores = [core(i, memory=packing(buffer(size=10**6), x)) for i, x in enumerate(formats)]
    made = star(*cores)
    far = made.core(made.offchip)
    memories = tuple(packing(level, offchip) for level in far.top_levels.values())
    changed = copy_with(far, {"memories": memories[:1]})
    return copy_with(made, {"cores": (*cores, changed)})


def two() -> Workload:
    """Two convolutions, of whose outputs and weights a quarter is not zero."""
    first = conv2d("first", (1, 4, 6, 6), (8, 4, 3, 3), padding=1)
    second = conv2d("second", (1, 8, 6, 6), (4, 8, 3, 3), padding=1, source=first)
    return with_densities(network("two", first, second), {"O": 0.25, "W": 0.25})


def split(
    workload: Workload, accelerator: MultiCoreAccelerator | None, options: SplitOptions = WHOLE
) -> CnWorkload:
    """The nodes on an accelerator."""
    return split_workload(workload, options, lambda _: True, lambda _: None, accelerator)


def bits(nodes: CnWorkload, place: int) -> dict[str, int]:
    """The bits of each tensor of a node."""
    node = nodes.node(place)
    return {tensor.operand: tensor.bits for tensor in (node.output, *node.inputs)}


def test_what_all_outermost_memories_compress_is_compressed() -> None:
    nodes = split(two(), machine(ALL, ALL))
    image, sums, weights = 4 * 6 * 6, 8 * 6 * 6, 8 * 4 * 9
    assert bits(nodes, 0) == {"O": PACKED * sums, "W": PACKED * weights, "I": 8 * image}
    assert bits(nodes, 1) == {"O": PACKED * image, "W": PACKED * weights, "I": PACKED * sums}
    assert nodes.edges.bits.tolist() == [PACKED * sums]


@pytest.mark.parametrize(
    ("formats", "offchip", "packed"),
    [
        ((ALL, ALL[:1]), ALL, ()),  # core 1 keeps weights and outputs as they are
        ((ALL, ALL[1:]), ALL, ("W",)),  # and here what it reads
        ((ALL, ALL), (), ()),
        ((ALL, ALL), ALL[1:2], ("W",)),
        ((ALL[1:2], ALL[1:2]), ALL, ("W",)),
    ],
)
def test_else_it_stays_as_it_is(
    formats: Sequence[Sequence[Compression]], offchip: Sequence[Compression], packed: Sequence[str]
) -> None:
    nodes, plain = split(two(), machine(*formats, offchip=offchip)), split(two(), None)
    for place in range(2):
        before, after = bits(plain, place), bits(nodes, place)
        # without a reader, the last output is in memories for outputs only
        ends = {"O"} if place == 1 and all(ALL[2] in x for x in (*formats, offchip)) else set[str]()
        for name, size in before.items():
            is_packed = name in packed or name in ends
            assert after[name] == (size / 8 * PACKED if is_packed else size)


def test_of_several_formats_the_largest_counts() -> None:
    runs = tuple(run_length(x.operand, 2) for x in ALL)
    nodes = split(two(), machine(ALL, runs))
    each = max(stored_bits(8, 0.25, x) for x in (ALL[0], runs[0]))
    assert PACKED < each < 8
    assert nodes.edges.bits.tolist() == [ceil(8 * 6 * 6 * each)]


@pytest.mark.parametrize(
    ("written", "read", "density"),
    [(0.25, 1.0, 0.25), (1.0, 0.5, 0.5), (0.5, 0.25, 0.25), (1.0, 1.0, 1.0)],
)
def test_writers_and_readers_state_densities(written: float, read: float, density: float) -> None:
    stated = with_densities(two(), {"first.O": written, "second.I": read, "W": 1.0})
    nodes = split(stated, machine(ALL))
    each = min(8.0, 1 + density * 8)
    assert nodes.edges.bits.tolist() == [8 * 6 * 6 * each]
    assert bits(nodes, 1)["I"] == bits(nodes, 0)["O"] == 8 * 6 * 6 * each


def test_of_several_readers_the_largest_density_counts() -> None:
    first = conv2d("first", (1, 4, 6, 6), (8, 4, 1, 1))
    readers = [conv2d(name, (1, 8, 6, 6), (4, 8, 1, 1), source=first) for name in ("a", "b")]
    net = with_densities(network("three", first, *readers), {"a.I": 0.25, "b.I": 0.5})
    assert split(net, machine(ALL)).edges.bits.tolist() == [8 * 36 * 5] * 2


def test_partial_sums_stay_as_they_are() -> None:
    options = SplitOptions(hints=((HintLoop(dimension="C", tiles=2),),))
    nodes = split(two(), machine(ALL), options)
    assert [bits(nodes, place)["O"] for place in range(2)] == [8 * 8 * 36, PACKED * 8 * 36]


def test_formats_are_those_of_all_outermost_memories() -> None:
    found = top_formats(machine(ALL, ALL[:1]))
    assert found["I1"] == {ALL[0]}
    assert found["O"] == {ALL[2], None}


@given(networks(), st.floats(0.01, 1), st.floats(0.01, 1))
def test_fewer_zeros_are_never_fewer_bits(workload: Workload, one: float, other: float) -> None:
    accelerator, plain = machine(ALL), split(workload, None)
    few, many = (
        split(with_densities(workload, {"O": x, "W": x}), accelerator)
        for x in (min(one, other), max(one, other))
    )
    assert np.array_equal(few.edges.producer, plain.edges.producer)
    assert (few.edges.bits <= many.edges.bits).all()
    assert (many.edges.bits <= plain.edges.bits).all()
    for place in range(len(plain)):
        before, fewest, most = (bits(nodes, place) for nodes in (plain, few, many))
        assert all(fewest[name] <= most[name] <= size for name, size in before.items())


@given(networks())
def test_without_zeros_or_formats_nothing_changes(workload: Workload) -> None:
    plain = split(workload, None)
    for accelerator in (machine(ALL), machine((), offchip=())):
        nodes = split(workload, accelerator)
        assert np.array_equal(nodes.edges.bits, plain.edges.bits)
        assert all(bits(nodes, i) == bits(plain, i) for i in range(len(plain)))
    assert split(workload, machine(())).layers == plain.layers


def scheduled(density: float) -> Schedule:
    """Two layers by rows, each on a core of its own, on memories that compress everything."""
    first = conv2d("first", (1, 4, 6, 6), (8, 4, 3, 3), padding=1)
    second = conv2d("second", (1, 8, 6, 6), (4, 8, 3, 3), padding=1, source=first)
    shares = dict.fromkeys("OWI", density)
    problem = StreamProblem(
        workload=with_densities(network("two", first, second), shares),
        accelerator=machine(ALL, ALL),
    )
    made = IntraCoreMappingStage()(GenerateCNWorkloadHybridStage(options=ROWS)(problem))
    return schedule(made, (0, 1))


def test_compressed_tensors_move_over_links() -> None:
    dense, sparse = scheduled(1.0), scheduled(0.25)
    assert not violations(dense)
    assert not violations(sparse)
    moved, packed = (sum(x.problem.nodes.edges.bits) for x in (dense, sparse))
    assert packed == moved * PACKED / 8
    for schedule_, each in ((dense, 8), (sparse, PACKED)):
        # rows of 8 channels from core to core, in words of the 64 bit of both memories
        row = ceil(8 * 6 * each / 64)
        assert schedule_.energy.activation_memory == 6 * row * (1 + 1)
    assert sparse.energy.constant_memory < dense.energy.constant_memory
    assert sparse.latency < dense.latency
