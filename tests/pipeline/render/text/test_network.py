"""The per-layer table hides nothing, whatever the width and the names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Infeasibility,
    Layer,
    LayerResult,
    NetworkEvaluation,
    PaddedLoop,
    SearchStatistics,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.reduced_unrollings import ReducedUnrolling
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.pipeline.format.numbers import cycles, energy
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.network import (
    MOST_NOTES,
    padding_notes,
    reduced_notes,
    skipped_orders,
    totals,
)
from nestmap.pipeline.render.text.plain_table import table_lines

LAYERS = tuple(
    layer_from_equation(
        "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        {"B": 1, "K": k, "C": 64, "OY": 56, "OX": 56, "FY": 3, "FX": 3},
        relations=("ix=ox+fx", "iy=oy+fy"),
        name=name,
        operator="Conv",
    )
    for name, k in (("conv1", 64), ("conv2", 100))
)


@pytest.fixture(scope="module")
def evaluation() -> NetworkEvaluation:
    """Two layers explored."""
    return explore(Workload.of(*LAYERS), "tpu_like", search="loma", lpf_limit=3).total


def named(
    evaluation: NetworkEvaluation, names: tuple[str, ...]
) -> tuple[tuple[Layer, ...], NetworkEvaluation]:
    """The layers and their results under other names."""
    layers = tuple(copy_with(x, {"name": n}) for x, n in zip(LAYERS, names, strict=True))
    results = tuple(
        copy_with(x, {"cme": copy_with(x.cme, {"layer": n})})
        for x, n in zip(evaluation.layers, names, strict=True)
    )
    return layers, NetworkEvaluation(layers=results)


@settings(deadline=None)
@given(
    names=st.tuples(*[st.text(st.characters(codec="utf-8"), min_size=1, max_size=90)] * 2),
    width=st.integers(1, 200),
)
def test_all_figures_are_in_the_table(
    evaluation: NetworkEvaluation, names: tuple[str, str], width: int
) -> None:
    layers, renamed = named(evaluation, names)
    lines = [line.text for line in table_lines(layer_table(renamed, layers), width)]
    for result in renamed.layers:
        (row,) = (x for x in lines if cycles(result.cme.latency) in x.split())
        assert energy(result.cme.energy) in row
    assert lines[-1].startswith("total")
    assert cycles(renamed.latency) in lines[-1]
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("width", [80, 100, 120, 1000])
def test_no_line_is_wider_than_the_terminal(evaluation: NetworkEvaluation, width: int) -> None:
    for names in (("conv1", "conv2"), ("encoder/layer.0/attention/self/query/MatMul" * 2, "x")):
        layers, renamed = named(evaluation, names)
        assert (
            max(len(line.text) for line in table_lines(layer_table(renamed, layers), width))
            <= width
        )


def test_long_names_are_broken_and_not_cut(evaluation: NetworkEvaluation) -> None:
    name = "encoder/layer.0/attention/self/query/MatMul"
    layers, renamed = named(evaluation, (name, "x"))
    text = "".join(
        line.text.split(" ")[0] for line in table_lines(layer_table(renamed, layers), 80)
    )
    assert name in text


def test_wide_and_narrow_tables_say_the_same(evaluation: NetworkEvaluation) -> None:
    table = layer_table(evaluation, LAYERS)
    wide, narrow = (table_lines(table, width) for width in (1000, 80))
    assert len(wide) < len(narrow)
    for lines in (wide, narrow):
        text = "\n".join(line.text for line in lines)
        assert "K 64, C 64, OY 56, OX 56, FY 3, FX 3" in text
        assert "K 32" in text
        assert " B 1" not in text


def test_totals_and_spatial_mapping(evaluation: NetworkEvaluation) -> None:
    assert spatial_text(evaluation.layers[0].cme.spatial_mapping) == "D1: K 32, D2: C 32"
    assert f"latency {cycles(evaluation.latency)} cycles" in totals(evaluation)


def test_notes_on_skipped_orders_are_not_too_many(evaluation: NetworkEvaluation) -> None:
    failed = tuple(Infeasibility(reason=f"r{i}", count=i + 1) for i in range(MOST_NOTES + 2))
    statistics = SearchStatistics(evaluations=5, infeasible=failed)
    result = LayerResult(cme=evaluation.layers[0].cme, statistics=statistics)
    first, *_, last = notes = skipped_orders(NetworkEvaluation(layers=(result,)))
    assert first == "1 of 83 orders of layer conv1 skipped: r0."
    assert last.startswith("2 more notes")
    assert len(notes) == MOST_NOTES + 1


def reduced(layer: str, asked: int = 8) -> ReducedUnrolling:
    return ReducedUnrolling(layer=layer, array_dimension="D1", dimension="K", asked=asked, used=3)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("a", "layer a uses 3."),
        ("a b", "2 layers a, b use 3."),
        ("a b c d e", "5 layers a, b, c, ... use 3."),
    ],
)
def test_reduced_unrollings_name_their_layers(layers: str, expected: str) -> None:
    notes = reduced_notes([reduced(layer) for layer in layers.split()])
    assert notes == [f"Unrolling reduced to fit: D1 asks for K 8, {expected}"]


def test_the_first_reduced_unrollings_are_printed() -> None:
    notes = reduced_notes([reduced("a", asked) for asked in range(4, 4 + MOST_NOTES + 2)])
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1] == "2 more reduced unrollings are in the JSON file (--json)."


def test_padded_layers_are_told(evaluation: NetworkEvaluation) -> None:
    assert padding_notes(evaluation) == []
    padding = (
        PaddedLoop(dimension="K", size=50, padded=64),
        PaddedLoop(dimension="OX", size=56, padded=64),
    )
    padded = [
        LayerResult(cme=copy_with(evaluation.layers[0].cme, {"layer": f"l{i}", "padding": padding}))
        for i in range(MOST_NOTES + 3)
    ]
    notes = padding_notes(NetworkEvaluation(layers=tuple(padded)))
    assert notes[0] == (
        "Layer l0 is padded: K 50 -> 64, OX 56 -> 64 "
        "(46.3% more multiply-accumulates, in all figures of the layer)."
    )
    assert notes[-1] == "3 more padded layers are in the JSON file (--json)."
    assert len(notes) == MOST_NOTES + 1
