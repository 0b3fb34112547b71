"""How far results may be from the optimum, in words and in the table of layers."""

import pytest

from nestmap.model import (
    LayerFront,
    LayerResult,
    NetworkEvaluation,
    Objective,
    ObjectiveBound,
    SearchStatistics,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.render.notebook.views import result_html
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.gap import bound_sentence, front_gap_note, gap_note
from nestmap.pipeline.render.text.plain_table import table_lines
from tests.store.builders import accelerator, cme, layer

CME = copy_with(
    cme(layer("fc"), accelerator(), 3e6),
    {"memory_energy": 1e6, "onloading": 0.0, "offloading": 0.0},
)
CYCLES = CME.latency


def result(value: float | None, name: str = "fc", unproven: int = 0, cut: int = 0) -> LayerResult:
    """A result with this lower bound of its latency."""
    bound = None if value is None else ObjectiveBound(objective=Objective.LATENCY, value=value)
    statistics = SearchStatistics(evaluations=9, unproven=unproven, cut=cut)
    return LayerResult(cme=copy_with(CME, {"layer": name}), bound=bound, statistics=statistics)


def network(*values: float | None, unproven: int = 0, cut: int = 0) -> NetworkEvaluation:
    return NetworkEvaluation(
        layers=tuple(result(x, f"fc{i}", unproven, cut) for i, x in enumerate(values))
    )


@pytest.mark.parametrize(
    ("objective", "value", "text"),
    [
        (Objective.LATENCY, CYCLES, "The mapping is optimal: no mapping of the space searched "),
        (Objective.ENERGY, 3e6, "takes less energy than 3.000 uJ: the optimum is at most 25.0%"),
        (Objective.LATENCY, CYCLES / 2, "cycles: the optimum is at most 50.0% lower."),
        (
            Objective.EDP,
            CME.energy * CYCLES * 0.9,
            "No mapping of the space searched has an energy-delay product below ",
        ),
    ],
)
def test_a_layer_says_its_bound_and_gap(objective: Objective, value: float, text: str) -> None:
    bound = ObjectiveBound(objective=objective, value=value)
    assert text in bound_sentence(bound, CME)
    shown = result_html(LayerResult(cme=CME, bound=bound))
    assert bound_sentence(bound, CME) in shown
    assert "the space searched" not in result_html(LayerResult(cme=CME))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((None, None), ""),
        ((CYCLES, CYCLES), "Lower bounds: 2 of 2 layers proven optimal."),
        (
            (CYCLES, CYCLES / 2),
            "Lower bounds: 1 of 2 layers proven optimal, optimum of the others at most 50.0% "
            "lower, optimum of the network at most 25.0% lower.",
        ),
        (
            (CYCLES / 2, None),
            "Lower bounds: 0 of 2 layers proven optimal, optimum of each at most 50.0% lower, no "
            "bound known of 1.",
        ),
        (
            (CYCLES / 2,),
            "Lower bounds: 0 of 1 layers proven optimal, optimum of each at most 50.0% lower.",
        ),
    ],
)
def test_a_network_says_how_many_are_optimal(values: tuple[float | None, ...], text: str) -> None:
    assert gap_note(network(*values)) == text


def test_searches_that_a_limit_ended_are_said() -> None:
    by_work = gap_note(network(CYCLES / 2, unproven=2))
    assert ", the limit of work left 2 spatial mappings. " in by_work
    assert by_work.endswith("in a mapping file leave fewer of them, and more work for each.")
    both = gap_note(network(CYCLES / 2, unproven=3, cut=1))
    assert ", the time limit left 1 spatial mapping, the limit of work left 2 spatial" in both
    by_time = gap_note(network(CYCLES / 2, unproven=1, cut=1))
    assert by_time.endswith(", the time limit left 1 spatial mapping.")


@pytest.mark.parametrize("width", [60, 400])
def test_the_table_has_a_column_where_bounds_are_known(width: int) -> None:
    layers = [layer(f"fc{i}") for i in range(3)]
    gaps = layer_table(network(CYCLES, CYCLES / 2, None), layers)
    lines = [x.text for x in table_lines(gaps, width)]
    end = lines[1].index("at most") + len("at most")
    assert lines[0][:end].endswith(" Gap")
    told = [next(x for x in lines if x.startswith(f"fc{i}"))[:end].split()[-1] for i in range(3)]
    assert told == ["optimal", "50.0%", "-"]
    assert lines[-1].split()[-1] == "-"
    whole = table_lines(layer_table(network(CYCLES, CYCLES / 2), layers[:2]), width)
    assert whole[-1].text.split()[-1] == "25.0%"
    unknown = layer_table(network(None, None), layers[:2])
    assert "Gap" not in [column.title for column in unknown.columns]


def test_fronts_that_a_limit_has_cut_say_so() -> None:
    def fronts(*gaps: float | None) -> list[LayerFront]:
        return [LayerFront(cmes=(CME,), statistics=SearchStatistics(front_gap=x)) for x in gaps]

    assert not front_gap_note(fronts(None, None))
    assert front_gap_note(fronts(0.0)) == "Proven complete."
    assert front_gap_note(fronts(0.01)).startswith("Not proven complete; each mapping")
    assert front_gap_note(fronts(0.0, 0.0)) == "2 of 2 fronts proven complete."
    assert front_gap_note(fronts(0.0, 0.0312, 0.01, None)) == (
        "1 of 4 fronts proven complete; each mapping that was not found is at most 3.2% below some "
        "point, in energy and in latency."
    )
