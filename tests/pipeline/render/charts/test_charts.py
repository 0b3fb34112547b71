"""Charts show the numbers of the evaluations, of every machine and under every name."""

import re

import altair as alt
import pytest

from nestmap.model import InputError
from nestmap.pipeline.analysis.network.roofline import ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import (
    LEAKAGE_LOOK,
    VECTOR_LOOK,
    Bars,
    cmes_of,
    energy_bars,
    latency_bars,
    memory_bars,
    share_bars,
)
from nestmap.pipeline.format.palette import (
    CANDIDATES,
    CAUSES,
    TRANSFERS,
    WAITS,
    Look,
    grey_look,
    ramp_color,
    run_look,
    tone,
)
from nestmap.pipeline.render.charts import (
    Chart,
    NamedRun,
    comparison_charts,
    run_charts,
    vega_script,
)
from tests.pipeline.render.charts.read import bars_of, constants, expressions, rows_of, spec_of
from tests.pipeline.render.samples import HOSTILE, machine, many_names, network

MACHINES = ("tpu_like", "aimc", "dimc", "edge_22nm", "eyeriss_like")
NAMES = ("a", "b", "c", "d", "e")
LIGHT, DARK = 0xFFFFFF, 0x181C22


def charts_of(accelerator: str) -> dict[str, Chart]:
    found = run_charts(network(NAMES, accelerator), machine(accelerator))
    return {chart.name: chart for chart in found}


def hostile_charts() -> list[Chart]:
    """All charts of runs with names of every kind."""
    first, second = network(many_names(40), vector=True), network(HOSTILE, "aimc")
    runs = [NamedRun(name, run) for name, run in zip(HOSTILE, (first, second), strict=False)]
    return [*run_charts(first, machine("tpu_like")), *comparison_charts(runs)]


def lengths(bars: Bars) -> dict[tuple[str, str], float]:
    """The bars of figures that have a length."""
    return {
        (name, part.label): value
        for part in bars.parts
        for name, value in zip(bars.names, part.values, strict=True)
        if value
    }


@pytest.mark.parametrize("accelerator", MACHINES)
def test_bars_are_those_of_the_figures(accelerator: str) -> None:
    evaluation, found = network(NAMES, accelerator), charts_of(accelerator)
    assert bars_of(found["energy"]) == lengths(energy_bars(evaluation))
    assert bars_of(found["latency"]) == lengths(latency_bars(evaluation))
    assert bars_of(found["utilization"]) == lengths(share_bars(evaluation))
    assert bars_of(found["memories"]) == lengths(memory_bars(cmes_of(evaluation)))


def test_all_layers_have_a_row_also_those_of_no_length() -> None:
    evaluation = network(NAMES, vector=True)
    chart = run_charts(evaluation, machine("tpu_like"))[0]
    assert constants(chart)["names"] == [*NAMES, "vector operators"]
    assert bars_of(chart)["vector operators", "vector operators"] == evaluation.vector_energy


@pytest.mark.parametrize("accelerator", MACHINES)
def test_the_roofline_has_all_points_below_all_ceilings(accelerator: str) -> None:
    evaluation, of = network(NAMES, accelerator), machine(accelerator)
    chart = charts_of(accelerator)["roofline"]
    found = [(row["x"], row["y"], row["cycles"]) for row in rows_of(chart, "points")]
    expected = points(evaluation, of)
    assert found == [(p.intensity, p.performance, p.weight) for p in expected]
    widths = [row["y"] / row["x"] for row in rows_of(chart, "ceilings")]
    drawn = {point.memory for point in expected}
    one_each = [x.width for x in ceilings(of) if x.memory in drawn]
    assert widths == pytest.approx([width for width in one_each for _ in range(2)])
    assert {row["y"] for row in rows_of(chart, "peak")} == {peak(of)}


def test_a_roofline_of_another_machine_is_an_error() -> None:
    with pytest.raises(InputError, match="the accelerator of its evaluation"):
        run_charts(network(NAMES), machine("aimc"))


def test_runs_are_compared_in_all_and_by_layer() -> None:
    first, second = network(NAMES, vector=True), network(NAMES[1:], "aimc")
    found = comparison_charts([NamedRun("one", first), NamedRun("two", second)])
    energy, latency, by_energy, by_latency = map(bars_of, found)
    for name, run in (("one", first), ("two", second)):
        assert sum(v for (of, _), v in energy.items() if of == name) == pytest.approx(run.energy)
        assert sum(v for (of, _), v in latency.items() if of == name) == pytest.approx(run.latency)
        for cme in cmes_of(run):
            assert by_energy[cme.layer, name] == cme.energy
            assert by_latency[cme.layer, name] == cme.latency
    assert len(by_energy) == 2 * len(NAMES) - 1


def test_runs_of_the_same_name_stay_apart() -> None:
    runs = [NamedRun("run", network(NAMES)), NamedRun("run", network(NAMES, "aimc"))]
    by_layer = comparison_charts(runs)[2]
    assert constants(by_layer)["parts"] == ["run (1)", "run (2)"]
    assert len(bars_of(by_layer)) == 2 * len(NAMES)


def test_comparing_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no run to compare"):
        comparison_charts([])


def test_every_specification_is_vega_lite_and_asks_for_nothing() -> None:
    for chart in hostile_charts():
        spec = spec_of(chart)
        assert "$schema" not in spec
        assert not re.search(r"https?:|\"url\"", chart.spec)
        kind = alt.LayerChart if "layer" in spec else alt.Chart
        kind.from_json(chart.spec)  # validates


def test_no_name_is_in_an_expression() -> None:
    for chart in hostile_charts():
        found = list(expressions(spec_of(chart)))
        assert found
        assert not any(name in text for name in HOSTILE if len(name) > 1 for text in found)


def test_names_that_cannot_be_seen_are_spelled_out() -> None:
    (energy, *_) = run_charts(network(HOSTILE), machine("tpu_like"))
    assert "two\\nlines" in constants(energy)["names"]
    assert max(map(len, constants(energy)["short"])) <= 26


def test_the_same_results_give_the_same_charts() -> None:
    assert hostile_charts() == hostile_charts()


def test_summaries_tell_the_main_figures() -> None:
    evaluation = network(("first", "second"), vector=True)
    texts = {c.name: c.summary for c in run_charts(evaluation, machine("tpu_like"))}
    assert texts["energy"].startswith("7.457 µJ in all: dram 98.4%, ")
    assert "Most at first: 5.897 µJ (79." in texts["energy"]
    assert "cycles in all: stall " in texts["latency"]
    assert texts["utilization"].count("%") == 3
    assert "dram for 2" in texts["roofline"]
    assert texts["memories"].endswith("Without vector operators.")
    for chart in run_charts(evaluation, machine("tpu_like")):
        assert spec_of(chart)["description"] == chart.summary


def luminance(color: int) -> float:
    parts = [(color >> shift & 255) / 255 for shift in (16, 8, 0)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: int, second: int) -> float:
    """As WCAG 2.1 defines it."""
    bright, dim = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_parts_have_colours_of_their_own_on_light_and_dark_pages() -> None:
    looks = [*(grey_look(i) for i in range(6)), LEAKAGE_LOOK, VECTOR_LOOK]
    looks += [Look(ramp_color(i, 8)) for i in range(8)]
    looks += [*map(Look, (*CAUSES, *CANDIDATES)), *(run_look(i) for i in range(8))]
    tones = [tone(each) for each in looks]
    assert len({x.light for x in tones}) == len({x.dark for x in tones}) == len(looks)


def test_colours_can_be_seen_on_dark_pages_and_areas_have_an_outline_on_light_ones() -> None:
    looks = [*(grey_look(i) for i in range(6)), *(Look(ramp_color(i, 8)) for i in range(8))]
    looks += [*map(Look, (*CAUSES, *CANDIDATES, *TRANSFERS)), *(run_look(i) for i in (0, 1))]
    for each in looks:
        assert contrast(int(tone(each).dark[1:], 16), DARK) > 3
    for color in WAITS:
        assert 1.2 < contrast(int(tone(Look(color)).dark[1:], 16), DARK) < 8
    assert contrast(int(tone(grey_look(0)).light[1:], 16), LIGHT) > 3


def test_the_script_can_stand_in_a_page() -> None:
    script = vega_script()
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "window.vegaEmbed" in script
    assert 500_000 < len(script) < 1_200_000
    assert vega_script() is script
