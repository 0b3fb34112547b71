"""The chart of mappings: every one is shown or stood for, the front is complete."""

import json
from collections import Counter

import altair as alt
import numpy as np
import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, MappingType, front_rows
from nestmap.pipeline.analysis.network.scatter import Cloud, Costs
from nestmap.pipeline.render.charts import Chart, mappings_chart
from nestmap.pipeline.render.charts.mappings import MOST_POINTS
from nestmap.search import loma
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.pipeline.render.charts.read import rows_of, spec_of
from tests.pipeline.render.samples import evaluated
from tests.sweeps import some_of


def batches() -> list[EvaluationBatch]:
    """All mappings of a small layer."""
    top = memory("top", served="D1")
    spatial = mapped(matmul(k=8, c=12, b=4), machine(memory("reg", size=64, operands="I2"), top))
    return [evaluate_batch(batch) for batch in loma(spatial, 4, MappingType.UNEVEN)]


def cloud(rows: int, spread: float = 0.2, name: str = "D1: K 4", seed: int = 0) -> Cloud:
    random = np.random.default_rng(seed)
    costs = np.exp(random.normal(12, spread, (2, rows)))
    return Cloud(name, costs[0], costs[1])


def pairs(chart: Chart, table: str) -> list[tuple[float, float]]:
    return [(row["y"], row["x"]) for row in rows_of(chart, table)]


def all_of(*clouds: Cloud) -> list[tuple[float, float]]:
    return [(e, t) for x in clouds for e, t in zip(x.energy.tolist(), x.latency, strict=True)]


def test_every_cost_is_a_point() -> None:
    found = batches()
    collected = Costs()
    for batch in found:
        collected.observe(batch)
    chart = mappings_chart("layer-1", collected.clouds, "Mappings")
    costs = [(float(e), float(t)) for x in found for e, t in zip(x.energy, x.latency2, strict=True)]
    times = Counter(costs)
    shown = rows_of(chart, "mappings")
    assert {(row["y"], row["x"]): row["count"] for row in shown} == times
    assert len(shown) == len(times) < times.total()
    assert (chart.name, chart.title) == ("layer-1", "Mappings")
    assert chart.summary.startswith(f"{len(costs)} recorded mappings with 1 spatial mapping")


@pytest.mark.parametrize("spread", [0.1, 2.0])
@pytest.mark.parametrize("rows", [MOST_POINTS, MOST_POINTS + 1, 100_000])
def test_many_mappings_are_stood_for(rows: int, spread: float) -> None:
    given_cloud = cloud(rows, spread)
    chart = mappings_chart("mappings", (given_cloud,), "Mappings")
    shown = rows_of(chart, "mappings")
    assert len(shown) <= 2025
    assert sum(row["count"] for row in shown) == rows
    assert set(pairs(chart, "mappings")) <= set(all_of(given_cloud))
    best = front_rows(given_cloud.energy, given_cloud.latency)
    front = list(zip(given_cloud.energy[best], given_cloud.latency[best], strict=True))
    assert pairs(chart, "front") == front
    assert f"{rows:,} recorded mappings" in chart.summary
    assert ("stand for all" in chart.summary) is (len(shown) < rows)


def test_the_best_are_among_those_that_stand_for_others() -> None:
    given_cloud = cloud(50_000)
    found = pairs(mappings_chart("mappings", (given_cloud,), "Mappings"), "mappings")
    assert min(found)[0] == given_cloud.energy.min()


def test_the_chosen_one_is_marked() -> None:
    cme = evaluated("tpu_like", 8, 64, 128)
    chart = mappings_chart("mappings", (cloud(50),), "Mappings", cme)
    marked = [row for row in rows_of(chart, "front") if str(row["kind"]) == "chosen mapping"]
    assert [(row["y"], row["x"]) for row in marked] == [(cme.energy, cme.latency)]
    without = mappings_chart("mappings", (cloud(50),), "Mappings")
    assert '"chosen mapping"' in chart.spec
    assert '"chosen mapping"' not in without.spec


def test_its_marks_are_visible_in_the_legend() -> None:
    """White marks have but an outline, which is gone where the configuration states another."""
    cme = evaluated("tpu_like", 8, 64, 128)
    chart = mappings_chart("mappings", (cloud(50),), "Mappings", cme)
    legend = json.dumps(vl_convert.vegalite_to_vega(chart.specification)["legends"][-1])
    assert '"fill": {"value": "#ffffff"}' in legend
    assert '"stroke": {"value": "#' in legend


def test_many_spatial_mappings_share_the_last_colour() -> None:
    found = tuple(cloud(3, name=f"D1: K {i}", seed=i) for i in range(9))
    chart = mappings_chart("mappings", found, "Mappings")
    assert "4 more spatial mappings" in chart.spec
    assert {row["cloud"] for row in rows_of(chart, "mappings")} == set(range(6))


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(ValueError, match="no mapping was evaluated"):
        mappings_chart("mappings", (), "Mappings")


COSTS = st.floats(1e-3, 1e18) | st.sampled_from([0.0, 1.0, 1e6])


@settings(max_examples=some_of(25))
@given(st.lists(st.tuples(COSTS, COSTS), min_size=1, max_size=20))
def test_any_costs_can_be_charted(costs: list[tuple[float, float]]) -> None:
    energy, latency = (np.array(column) for column in zip(*costs, strict=True))
    chart = mappings_chart("mappings", (Cloud("", energy, latency),), "Mappings")
    shown = rows_of(chart, "mappings")
    assert set(pairs(chart, "mappings")) <= set(costs)
    assert sum(row["count"] for row in shown) == len(costs)
    assert "datasets" in spec_of(chart)
    alt.LayerChart.from_json(chart.spec)
