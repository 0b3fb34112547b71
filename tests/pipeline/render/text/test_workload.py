"""The report on a workload: rows of identical layers, sums, and what else there is."""

import re
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import NoCostNode, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.workload_summary import (
    activation_bits,
    intensity,
    layer_groups,
    single_layers,
    weight_bits,
)
from nestmap.pipeline.format.numbers import engineering
from nestmap.pipeline.render.json.workload import workload_json
from nestmap.pipeline.render.tables.workload import group_table, vector_table
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.pipeline.render.text.workload import no_cost_note, operator_notes, workload_totals
from tests.pipeline.render.text.samples import EMPTY, MIXED, VECTOR_ONLY, conv
from tests.strategies import layers

FIRST_MACS = 16 * 32 * 8 * 8
FIRST_WEIGHTS = 16 * 32 * 4
FIRST_ACTIVATIONS = (32 + 16) * 8 * 8 * 8


def texts(workload: Workload, width: int = 1000) -> list[str]:
    """The lines of the table of layers."""
    return [line.text for line in table_lines(group_table(layer_groups(workload.layers)), width)]


def as_json(workload: Workload) -> dict[str, Any]:
    """The report as JSON."""
    return cast("dict[str, Any]", workload_json(workload, layer_groups(workload.layers)))


def test_weights_are_the_constant_operands() -> None:
    layer = conv("first")
    assert weight_bits(layer) == FIRST_WEIGHTS
    assert activation_bits(layer) == FIRST_ACTIVATIONS
    expected = FIRST_MACS * 8 / (FIRST_WEIGHTS + FIRST_ACTIVATIONS)
    assert intensity(layer.macs, FIRST_WEIGHTS + FIRST_ACTIVATIONS) == expected


def test_layers_that_differ_in_name_and_source_only_share_a_row() -> None:
    groups = layer_groups(MIXED.layers)
    assert [group.names for group in groups] == [("first", "second"), ("third",)]
    assert [group.names for group in single_layers(MIXED.layers)] == [
        ("first",),
        ("second",),
        ("third",),
    ]
    rows = [line.split() for line in texts(MIXED)]
    assert [(row[0], row[9]) for row in rows if "Conv" in row] == [("first", "2"), ("third", "1")]


def test_layers_that_differ_in_anything_else_do_not() -> None:
    layer = conv("first")
    weights, inputs = layer.inputs
    others = [
        copy_with(layer, {"operator": "Gemm"}),
        copy_with(layer, {"output": copy_with(layer.output, {"partial_precision": 32})}),
        copy_with(layer, {"inputs": (copy_with(weights, {"constant": False}), inputs)}),
        copy_with(layer, {"inputs": (weights, copy_with(inputs, {"precision": 4}))}),
        copy_with(layer, {"loops": layer.loops[::-1]}),
    ]
    renamed = [copy_with(x, {"name": f"other{i}"}) for i, x in enumerate(others)]
    assert len(layer_groups((layer, *renamed))) == 6


def test_a_row_has_the_figures_of_one_layer() -> None:
    (row,) = (line for line in texts(MIXED) if line.startswith("first"))
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    assert cells == [
        "first",
        "Conv",
        "32.77 k",
        "256 B",
        "3 KiB",
        "9.85",
        "2",
        "K 16, C 32, OY 8, OX 8",
        "W 4, I 8, O 8 (sums 16)",
    ]


@settings(deadline=None)
@given(st.lists(layers(), min_size=1, max_size=4), st.integers(1, 3))
def test_totals_are_those_of_all_layers(some: list[Any], copies: int) -> None:
    parts = [copy_with(x, {"name": f"{n}.{i}"}) for i in range(copies) for n, x in enumerate(some)]
    workload = Workload.of(*parts)
    groups = layer_groups(workload.layers)
    assert sum(group.times for group in groups) == len(parts)
    assert sum(group.macs for group in groups) == workload.macs
    assert sum(group.weight_bits for group in groups) == sum(map(weight_bits, parts))
    for lines in (texts(workload), texts(workload, 80)):
        assert lines[-1].startswith("total")
        assert engineering(workload.macs) in lines[-1]
        assert lines[-1].endswith(str(len(parts)))
    assert f"layers {len(parts)}, different ones {len(groups)}, MACs" in workload_totals(
        workload, groups
    )


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=90), st.integers(1, 200))
def test_no_figure_is_lost_whatever_name_and_width(name: str, width: int) -> None:
    lines = texts(Workload.of(conv(name)), width)
    assert all(line.isprintable() for line in lines)
    (row,) = (line for line in lines if "32.77 k" in line and not line.startswith("total  "))
    assert re.search(r" 3 KiB +9\.85 +1(  |$)", row)


@pytest.mark.parametrize("width", [80, 120, 1000])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for name in ("conv", "encoder/layer.0/attention/self/query/MatMul" * 2):
        lines = texts(Workload.of(conv(name), conv("x", k=1000)), width)
        assert max(map(len, lines)) <= width
        text = " ".join(lines)
        assert "K 1000, C 32, OY 8, OX 8" in text
        assert "W 4, I 8, O 8 (sums 16)" in text


def test_vector_operators_are_counted_by_type() -> None:
    (row,) = vector_table(MIXED).rows
    assert row.texts == ("Relu", "1", "1,024", "1 KiB", "1 KiB")
    assert vector_table(EMPTY).rows == ()
    totals = workload_totals(MIXED, layer_groups(MIXED.layers))
    assert "vector operators 1, their operations 1,024, read 1 KiB, written 1 KiB." in totals


def test_unknown_operators_have_a_line_of_their_own() -> None:
    assert operator_notes(MIXED) == [
        "Operators that cost nothing here: Concat (1).",
        "Unrecognized operators, kept in the graph at no cost: acme.Magic (1).",
    ]
    assert operator_notes(EMPTY) == []


def test_an_operator_may_be_known_here_and_unknown_there() -> None:
    nodes = [
        NoCostNode(name=f"{known}{i}", operator="Cast", known=known)
        for i, known in enumerate((True, False, True))
    ]
    assert operator_notes(Workload.of(*nodes)) == [
        "Operators that cost nothing here: Cast (2).",
        "Unrecognized operators, kept in the graph at no cost: Cast (1).",
    ]


@pytest.mark.parametrize("workload", [EMPTY, VECTOR_ONLY])
def test_workloads_without_layers_have_a_report(workload: Workload) -> None:
    assert "Total: layers 0, different ones 0, MACs 0, weights -; vector" in workload_totals(
        workload, ()
    )
    assert as_json(workload)["layers"] == []


def test_json_says_what_the_table_says() -> None:
    data = as_json(MIXED)
    assert data["total"] == {
        "nodes": 6,
        "layers": 3,
        "different_layers": 2,
        "macs": 5 * FIRST_MACS,
        "weight_bits": 5 * FIRST_WEIGHTS,
        "vector_operators": 1,
        "vector_operations": 1024,
        "vector_bits_read": 8192,
        "vector_bits_written": 8192,
    }
    first = data["layers"][0]
    assert first["names"] == ["first", "second"]
    assert first["sizes"] == {"K": 16, "C": 32, "OY": 8, "OX": 8}
    assert first["precision"] == {"O": 8, "W": 4, "I": 8}
    assert (first["macs"], first["weight_bits"], first["activation_bits"]) == (
        FIRST_MACS,
        FIRST_WEIGHTS,
        FIRST_ACTIVATIONS,
    )
    assert data["unknown_operators"] == {"acme.Magic": 1}
    assert data["no_cost_operators"] == {"Concat": 1}


def test_operators_that_cost_nothing() -> None:
    assert no_cost_note({}) == ""
    assert no_cost_note({"Relu": 3, "Add": 1}) == (
        "Operators that cost nothing here: Add (1), Relu (3)."
    )
