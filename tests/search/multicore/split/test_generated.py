"""Generated networks by rows: edges go through their heads exactly."""

from collections import Counter

import pytest

from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.builders.matrix_products import elementwise_nest
from nestmap.pipeline.frontend.networks import generate_workload
from nestmap.search.multicore.split.split_workload import split_workload

ROWS = 6


def by_rows(name: str) -> CnWorkload:
    """Each row of tokens a node."""
    options = SplitOptions(hints=((HintLoop(dimension="D"),),))
    workload = generate_workload(name, {"seq": ROWS})
    return split_workload(workload, options, lambda node: True, lambda nest: None)


@pytest.mark.parametrize("name", ["bert-base-block", "gpt2-block", "llama-7b-prefill-block"])
def test_only_attention_needs_all_rows(name: str) -> None:
    made = by_rows(name)
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in range(len(made.edges)):
        edge = made.edge(row)
        if edge.operand is not None:
            places = int(made.edges.producer[row]), int(made.edges.consumer[row])
            one, other = (made.layer_of(place)[0].nest.name for place in places)
            counts[one, other, edge.operand] += 1
    assert {layer.tiling.count for layer in made.layers} == {ROWS}
    every = {key for key, count in counts.items() if count == ROWS * ROWS}
    assert {(other, operand) for _, other, operand in every} == {
        ("block/attention/scores", "W"),
        ("block/attention", "W"),
    }
    assert {count for key, count in counts.items() if key not in every} == {ROWS}


def test_inputs_are_repeated_or_read_whole() -> None:
    nest = elementwise_nest((2, 3, 4), [(2, 3, 4), (3, 1), (4,), (5,)])
    found = [
        access and [axis and axis.dimensions[0] for axis in access.axes] for access in nest.inputs
    ]
    assert found == [["B", "D", "K"], ["D", None], ["K"], None]
    assert [(loop.dimension, loop.size) for loop in nest.loops] == [("B", 2), ("D", 3), ("K", 4)]


def test_rows_are_read_along_the_last_axis() -> None:
    nest = elementwise_nest((3, 4), [(3, 4), (4,)], rows=True)
    found = [
        access and [axis and axis.dimensions[0] for axis in access.axes] for access in nest.inputs
    ]
    assert found == [["D", None], [None]]
