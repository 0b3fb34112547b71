"""Letters in figures: none on others, none cut off, names as they are, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    Cuts,
    Loop,
    MappingProblem,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.format.mappings import LONGEST
from nestmap.pipeline.render.figures import (
    accelerator_figure,
    comparison_figure,
    layers_figure,
    loops_figure,
    memories_figure,
    roofline_figure,
    utilization_figure,
)
from nestmap.pipeline.render.figures.matplotlib_types import page_of
from nestmap.pipeline.render.figures.text_metrics import escape_undrawable, short_name
from tests.pipeline.render.figures.baselines import FIGURES
from tests.pipeline.render.figures.drawn import cut_off, flaws, overlaps, texts
from tests.pipeline.render.figures.samples import HOSTILE, evaluated, machine, many_names, network
from tests.sweeps import every, some_of

MACHINES = ("aimc", "dimc", "edge_22nm", "eyeriss_like", "meta_prototype", "tesla_npu_like")


def network_figures(names: tuple[str, ...]) -> list[Figure]:
    """All figures with a row or a label for each layer."""
    first, second = network(names, vector=True), network(names, "aimc")
    return [
        layers_figure(first),
        layers_figure(second),
        utilization_figure(first),
        roofline_figure(first, machine("tpu_like")),
        comparison_figure([NamedRun("tpu_like", first), NamedRun("$aimc_", second)]),
    ]


@pytest.mark.parametrize("count", every(2, [1, 3, 20, 61, 150]))
def test_no_label_is_on_another(count: int) -> None:
    for figure in network_figures(many_names(count)):
        assert flaws(figure) == []


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_overlaps_in_the_committed_figures(name: str) -> None:
    figure = FIGURES[name]()
    assert flaws(figure) == []


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_overlaps_in_pictures_of_machines(name: str) -> None:
    for figure in (accelerator_figure(machine(name)), memories_figure(network(("a", "b"), name))):
        assert flaws(figure) == []


def test_labels_on_each_other_are_found() -> None:
    figure = Figure()
    axes = page_of(figure).add_subplot()
    for x, text in ((0.5, "here"), (0.5, "there"), (1.1, "beyond the edge")):
        axes.text(x, 0.5, text)
    found = texts(figure)
    assert overlaps(found) == [("here", "there")]
    assert cut_off(figure, found) == ["beyond the edge"]


@settings(max_examples=some_of(6), deadline=None)
@given(names=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=5, unique=True))
def test_any_name_can_be_drawn(names: list[str]) -> None:
    evaluation = network(names)
    for figure in (layers_figure(evaluation), roofline_figure(evaluation, machine("tpu_like"))):
        assert flaws(figure) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_mean_themselves(name: str) -> None:
    for figure in (layers_figure(network((name,))), loops_figure(renamed(name))):
        drawn = figure.findobj(Text)
        shown = [text for text in drawn if short_name(name) in text.get_text()]
        assert shown
        assert not any(text.get_parse_math() for text in drawn if text.get_text())


def renamed(name: str) -> CostModelEvaluation:
    return copy_with(evaluated("tpu_like", 8, 64, 128), {"layer": name})


def test_every_layer_has_its_name() -> None:
    names = many_names(150)
    shown = {text for text, _ in texts(layers_figure(network(names)))}
    assert {short_name(name) for name in names} - {""} <= shown


@given(st.text(max_size=100))
def test_a_short_name_is_short_and_can_be_drawn(name: str) -> None:
    short = short_name(name)
    assert len(short) <= LONGEST
    assert short == escape_undrawable(short)
    assert (short == name) == (name == escape_undrawable(name) and len(name) <= LONGEST)


def test_what_the_font_lacks_is_spelled_out() -> None:
    assert escape_undrawable("a\n\u4e2d\u00e9$_") == "a\\n\\u4e2d\u00e9$_"
    assert short_name("begin" + "x" * 50 + "end", 11) == "begin\u2026xxend"


@pytest.mark.parametrize("indent", [0, 2])
def test_nothing_overlaps_in_long_loop_nests(indent: int) -> None:
    assert flaws(loops_figure(long_nest("C" * indent + "CK" * (7 - indent) + "K" * indent))) == []


def long_nest(inner: str) -> CostModelEvaluation:
    """Twenty loops with a long name, unrolled over three dimensions at once."""
    layer = layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]", {"B": 64, "K": 512, "C": 1024}, name="a$_b" * 20
    )
    problem = MappingProblem(layer=layer, accelerator=machine("eyeriss_like"))
    unrolled = {"D1": "KBC", "D2": "CC"}
    unrollings = (
        Unrolling(array_dimension=side, loops=tuple(Loop(dimension=d, size=2) for d in dimensions))
        for side, dimensions in unrolled.items()
    )
    spatial = SpatialProblem(
        problem=problem, spatial_mapping=SpatialMapping(unrollings=tuple(unrollings))
    )
    order = tuple(Loop(dimension=d, size=2) for d in f"{inner}KBBBBB")
    cuts = (
        Cuts(operand=name, positions=(*range(3, 2 + len(problem.levels(name))), len(order)))
        for name in problem.links
    )
    return evaluate(spatial, TemporalMapping(order=order, cuts=tuple(cuts)))
