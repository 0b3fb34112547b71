"""The report on a split network: what the rows say, and the picture of small ones."""

from itertools import combinations
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from nestmap.model import Accelerator, Counting, Layer, Workload, layer_from_equation
from nestmap.model.multicore.accelerator import Bus, ComputeCore, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.pipeline.analysis.schedule.names import tiles_text
from nestmap.pipeline.analysis.schedule.split_summary import (
    Allowed,
    Span,
    largest_tensors,
    layer_splits,
    operand_links,
    too_large,
)
from nestmap.pipeline.render.json.schedule import split_json
from nestmap.pipeline.render.svg.cn_workload import MOST_NODES, cn_graph_svg
from nestmap.pipeline.render.tables.split import cores_text, split_table
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.search.multicore.split.split_workload import split_workload
from tests.model.builders import array, memory
from tests.pipeline.render.svg.test_layout import overlap
from tests.pipeline.render.svg.test_workload import box, groups, lines

SVG = "{http://www.w3.org/2000/svg}"


def conv(name: str, channels: tuple[int, int], source: str | None = None) -> Layer:
    """A convolution of 3 x 3 over 8 x 8, padded by one."""
    return layer_from_equation(
        "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        {"B": 1, "K": channels[0], "C": channels[1], "OY": 8, "OX": 8, "FY": 3, "FX": 3},
        name=name,
        operator="Conv",
        relations=["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        precision={"W": 8, "I": 8, "O": 8},
        sources={"I": source} if source else {},
        constants=["W"],
        axes={d: (8, (1, 1)) for d in ("IX", "IY")},
    )


TWO = Workload.of(conv("first", (8, 3)), conv("second", (16, 8), "first"), name="two")


def split(counting: Counting = Counting.EXACT, **tiles: int) -> CnWorkload:
    hints = tuple(HintLoop(dimension=d, tiles=n) for d, n in tiles.items())
    options = SplitOptions(hints=(hints,), counting=counting)
    return split_workload(TWO, options, lambda node: True, lambda nest: None)


def core(number: int, size: int, name: str = "core", *operators: str) -> ComputeCore:
    """A core with one memory for everything."""
    top = memory("top", "I1", "I2", "O", served=("D1", "D2"), size=size)
    machine = Accelerator(name=name, array=array(2, 2), memories=(top,))
    return ComputeCore(id=number, accelerator=machine, operators=operators)


def problem(*cores: ComputeCore) -> StreamProblem:
    dram = StorageCore(id=99, name="dram", memories=(memory("dram", "I1", "I2", "O"),))
    bus = Bus(cores=(*(x.id for x in cores), 99), bandwidth=64)
    machine = MultiCoreAccelerator(name="m", cores=(*cores, dram), offchip=99, buses=(bus,))
    return StreamProblem(workload=TWO, accelerator=machine)


def test_rows_sum_up_to_the_edges() -> None:
    made = split(OY=4, K=2)
    rows = layer_splits(made)
    assert [(row.nodes, row.groups) for row in rows] == [(8, 2), (8, 2)]
    brings = made.edges.read >= 0
    assert sum(row.edges for row in rows) == int(np.count_nonzero(brings))
    assert sum(row.bits for row in rows) == int(made.edges.bits[brings].sum())
    assert (rows[0].edges, rows[0].bits) == (0, 0)
    nodes = [node for node in made.nodes() if node.layer == "second"]
    inputs = [x.bits for node in nodes for x in node.inputs if not x.constant]
    assert rows[1].inputs == Span(min(inputs), max(inputs))
    assert rows[1].constants == Span(*(8 * 8 * 9 * 8,) * 2)


def test_cut_layers_in_words() -> None:
    first = split(OY=3, K=2).layers[0]
    assert tiles_text(first) == "OY 3 of 3, last 2; K 2 of 4"
    padded = split(Counting.REFERENCE, OY=3).layers[0]
    assert tiles_text(padded) == "OY 3 of 3, padded from 8"
    assert tiles_text(split().layers[0]) == "whole"


def test_the_table_has_a_row_for_each_layer_and_a_total() -> None:
    made = split(OY=2)
    wide = [line.text for line in table_lines(split_table(layer_splits(made), made), 200)]
    assert [line.split()[0] for line in wide[2:] if not line.startswith("-")] == [
        "first",
        "second",
        "total",
    ]
    narrow = table_lines(split_table(layer_splits(made), made), 70)
    assert any(line.text.strip() == "OY 2 of 4" for line in narrow)


def test_the_largest_tensors_come_first() -> None:
    rows = largest_tensors(split(OY=4), 3)
    assert [(row.layer.nest.name, row.use.operand) for row in rows] == [
        ("second", "W"),
        ("second", "O"),
        ("second", "I"),
    ]
    assert [row.bits for row in rows] == [16 * 8 * 9 * 8, 2 * 8 * 16 * 8, 4 * 8 * 8 * 8]


def test_the_largest_operands_are_left_out_first() -> None:
    made = split(OY=4)
    second = {"W": 9216, "I": 2048, "O": 2048}
    enough = sum(second.values())
    assert not list(too_large(made, Allowed(problem(core(0, enough)))))
    (row,) = too_large(made, Allowed(problem(core(0, enough - 1), core(1, enough - 1))))
    assert (row.layer.nest.name, row.left_out) == ("second", ("W",))
    assert dict(row.needs) == second
    assert [x.id for x in row.cores] == [0, 1]
    (row,) = too_large(made, Allowed(problem(core(0, enough), core(1, enough - 1))))
    assert [x.id for x in row.cores] == [1]
    small = [
        r for r in too_large(made, Allowed(problem(core(0, 2048)))) if r.layer.nest.name[0] == "s"
    ]
    assert [row.left_out for row in small] == [("I", "W")]


def test_cores_that_do_not_run_a_layer_are_not_asked() -> None:
    made = split(OY=4)
    rows = list(too_large(made, Allowed(problem(core(0, 10**6), core(1, 8, "pool", "MaxPool")))))
    assert rows == []


def test_cores_in_words() -> None:
    cores = (*(core(n, 8, "tpu") for n in (0, 1, 2, 4)), core(5, 8, "simd"))
    assert cores_text(cores) == "tpu 0-2, 4; simd 5"


def test_inputs_take_the_memory_operands_that_are_left() -> None:
    nest = split().layers[0].nest
    assert operand_links(nest, ("I1", "I2", "O")) == {"O": "O", "W": "I2", "I": "I1"}
    assert operand_links(nest, ("I1", "O")) == {"O": "O", "W": "I1", "I": "I1"}


def test_json_says_what_is_too_large() -> None:
    made = split(OY=2)
    unfit = tuple(too_large(made, Allowed(problem(core(7, 2048)))))
    data = split_json(made, layer_splits(made), unfit)
    assert isinstance(data, dict)
    assert data["nodes"] == 4
    assert data["too_large"] == [
        {
            "layer": row.layer.nest.name,
            "cores": [7],
            "memory": "top",
            "size": 2048,
            "needs": dict(row.needs),
            "no_room_for": list(row.left_out),
        }
        for row in unfit
    ]


def picture(made: CnWorkload) -> ET.Element:
    return ET.fromstring(cn_graph_svg(made))


def test_a_box_for_each_node_and_an_arrow_for_each_edge() -> None:
    made = split(OY=4, C=2)
    root = picture(made)
    boxes = groups(root, "node")
    assert [lines(group)[0] for group in boxes] == [str(made.id_of(p)) for p in range(len(made))]
    arrows = [x for x in root.iter(f"{SVG}path") if "edge" in x.get("class", "").split()]
    titles = [x.findtext(f"{SVG}title", "").partition(",")[0] for x in arrows]
    edges = [made.edge(row) for row in range(len(made.edges))]
    assert titles == [f"{edge.producer} to {edge.consumer}" for edge in edges]
    dotted = ["order" in x.get("class", "").split() for x in arrows]
    assert dotted == [edge.operand is None for edge in edges]
    for one, other in combinations(map(box, boxes), 2):
        assert not overlap(one, other)


def test_boxes_say_range_and_group() -> None:
    root = picture(split(OY=4, C=2))
    found = {lines(group)[0]: (group.get("class"), lines(group)) for group in groups(root, "node")}
    assert found["0.0"] == ("node g0 partial", ["0.0", "C 0-1", "OY 0-1", "group 0"])
    assert found["0.4"] == ("node g1", ["0.4", "C 2", "OY 0-1", "group 1"])
    assert found["1.7"] == ("node g1", ["1.7", "C 4-7", "OY 6-7", "group 1"])


def test_all_of_it_is_on_the_page() -> None:
    root = picture(split(OY=8))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for group in groups(root, "node"):
        place = box(group)
        assert 0 <= place.x <= place.x + place.width < width
        assert 0 <= place.y <= place.y + place.height < height


def test_large_graphs_are_not_drawn() -> None:
    made = split(OY=8, K=8, OX=8)
    assert len(made) > MOST_NODES
    with pytest.raises(ValueError, match="1,024 nodes and"):
        cn_graph_svg(made)
