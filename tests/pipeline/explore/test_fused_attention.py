"""Inputs that are copied first, executed tile by tile: keys and values of an attention."""

from dataclasses import replace

import pytest

from nestmap.model import (
    Accelerator,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SegmentInputs,
    SegmentPin,
    Workload,
)
from nestmap.model.workload.builders import attention
from nestmap.pipeline.analysis.network.roofline import bytes_moved
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages.mapping.layers import layer_problems
from nestmap.search.fusion.plans import FusedSteps, Staged, fused_steps, plans_of
from nestmap.search.fusion.tiles import Grid, axis_tiles
from nestmap.search.tensor_homes import TensorGraph
from tests.costmodel.machines import machine, memory
from tests.pipeline.explore.fused import segments_of, with_buffer

HEADS, QUERIES, KEYS, SIZE, BITS = 3, 6, 5, 4, 8


def attended(queries: int = QUERIES, keys: int = KEYS) -> Workload:
    """An attention of some heads, each with keys of its own."""
    shapes = (1, HEADS, queries, SIZE), (1, HEADS, keys, SIZE)
    return Workload(name="attention", nodes=attention("attention", *shapes))


def two_buffers() -> Accelerator:
    """One buffer of queries, scores and results, and another one of keys and values."""
    return machine(
        memory("register", size=32, operands="O", width=32),
        memory("queries", size=2**16, operands="I1 O", served="D1", width=64),
        memory("keys", size=2**16, operands="I2", served="D1", width=64),
        memory("top", size=2**40, served="D1", width=64),
        sides={"D1": 4},
    )


def segment(accelerator: Accelerator) -> FusedSteps:
    """Scores, Softmax and their product with the values."""
    workload = attended()
    network = NetworkProblem(workload=workload, accelerator=accelerator)
    problems = {x.layer.name: x for x in layer_problems(network, workload.layers)}
    steps = fused_steps(TensorGraph.of(workload, workload.layers), problems, 0, 2)
    assert isinstance(steps, FusedSteps)
    return steps


def copied_by_name(steps: FusedSteps, home: str) -> dict[str, Staged]:
    names = [steps.segment.nodes[x.reads[0][0]].nest.name for x in steps.staged[home]]
    operands = [x.reads[0][1] for x in steps.staged[home]]
    keys = [f"{name} {operand}" for name, operand in zip(names, operands, strict=True)]
    return dict(zip(keys, steps.staged[home], strict=True))


def test_keys_and_values_have_a_memory_that_holds_them() -> None:
    """Beside scores if it can, else where they can."""
    one, two = segment(with_buffer(2**16)), segment(two_buffers())
    for steps, home, other in ((one, "buffer", "buffer"), (two, "queries", "keys")):
        copied = copied_by_name(steps, home)
        assert {name: x.memory for name, x in copied.items()} == {
            "attention/scores 0": home,
            "attention/scores 1": other,
            "attention 1": other,
        }


@pytest.mark.parametrize("heads", range(1, HEADS + 1))
@pytest.mark.parametrize("queries", range(1, QUERIES + 1))
@pytest.mark.parametrize("retain", [(False, False), (True, True)])
def test_a_head_copies_its_keys_once(heads: int, queries: int, retain: tuple[bool, bool]) -> None:
    """They stay while the tiles of queries run, and make room for those of the next heads."""
    steps = segment(two_buffers())
    axes = [
        axis_tiles(steps.segment, a, n, retain=retain[a]) for a, n in enumerate((heads, queries))
    ]
    grid, copied = Grid(steps.segment, tuple(axes)), copied_by_name(steps, "queries")
    keys = copied["attention/scores 1"]
    assert sum(bits * times for bits, times in keys.parts(grid)) == HEADS * KEYS * SIZE * BITS
    room = keys.room(grid)
    assert room.during == heads * KEYS * SIZE * BITS
    assert room.kept == (room.during if queries < QUERIES else 0)
    given = copied["attention/scores 0"]
    assert sum(bits * times for bits, times in given.parts(grid)) == HEADS * QUERIES * SIZE * BITS
    assert given.room(grid).during == heads * queries * SIZE * BITS


def test_inputs_that_the_mapping_has_copied_are_copied() -> None:
    """Here keys and values, which the axis of queries does not index."""
    every = segment(two_buffers())
    given = tuple(x for x in every.staged["queries"] if x.memory == "keys")
    steps = replace(every, staged={"queries": given})
    pin = SegmentPin(last="attention", inputs=SegmentInputs.COPIED)
    plans = list(plans_of(steps, {}, {}, {"queries": 2**16, "keys": 2**16}, pin))
    assert plans
    assert {plan.staged for plan in plans} == {given}


def found(workload: Workload, accelerator: Accelerator) -> NetworkEvaluation:
    plan = SearchPlan(objective=Objective.ENERGY, fuse=True)
    return explore_network(NetworkProblem(workload=workload, accelerator=accelerator), plan).total


def test_an_attention_moves_nothing_twice() -> None:
    """Two of 64 queries fit beside keys and values: narrower tiles than are tried elsewhere."""
    keys, row = 64, 64 * BITS
    accelerator = with_buffer(2 * keys * SIZE * BITS + 2 * row + 4 * SIZE * BITS)
    workload = attended(64, keys)
    total = found(workload, accelerator)
    (whole,) = segments_of(total)
    assert whole.nodes == ("attention/scores", "attention/softmax", "attention")
    assert whole.tiles == HEADS * 32
    moved = sum(bytes_moved(x.cme, accelerator).get("top", 0.0) for x in total.layers)
    assert moved == 4 * HEADS * 64 * SIZE * BITS / 8
    assert total.gap is not None
    assert 0 <= total.gap < 0.2
