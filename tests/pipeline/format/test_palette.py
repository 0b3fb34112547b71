"""A colour has one meaning: no two scales that can be in one figure or report share one."""

from itertools import combinations
from pathlib import Path

import pytest

from nestmap.pipeline.analysis.network.stacked_bars import (
    cmes_of,
    energy_bars,
    latency_bars,
    memory_bars,
)
from nestmap.pipeline.analysis.schedule.energy import layer_energy_bars
from nestmap.pipeline.analysis.schedule.names import KIND_LOOKS, STALL_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind
from nestmap.pipeline.format.palette import (
    CANDIDATES,
    CAUSES,
    GREYS,
    INPUT_COLOR,
    OTHER_OPERANDS,
    OUTPUT_COLOR,
    RAMP,
    RUNS,
    SERIES,
    TRANSFERS,
    WAITS,
    WEIGHT_COLOR,
    Look,
    operand_looks,
    ramp_color,
    tone,
)
from nestmap.pipeline.render.charts.schedule.labels import SENT_KINDS, layer_colors, sent_parts
from tests.pipeline.render.samples import network
from tests.pipeline.render.schedules import pipelined

OPERANDS = (OUTPUT_COLOR, WEIGHT_COLOR, INPUT_COLOR, *OTHER_OPERANDS)
ONE_CORE = (GREYS, RAMP, OPERANDS, CAUSES, RUNS, CANDIDATES, (SERIES,))
"""The scales of figures and reports of networks on one core."""

SEVERAL_CORES = (GREYS, RAMP, TRANSFERS, WAITS, RUNS, (SERIES,))
"""The scales of figures and reports of schedules."""

STYLE = Path("pipeline/pages/report/static/style.css")


@pytest.mark.parametrize("scales", [ONE_CORE, SEVERAL_CORES])
def test_scales_of_one_report_share_no_colour(scales: tuple[tuple[str, ...], ...]) -> None:
    for scale in scales:
        assert len({color.lower() for color in scale}) == len(scale)
    for first, second in combinations(scales, 2):
        assert not {x.lower() for x in first} & {x.lower() for x in second}


def test_memories_operands_and_causes_have_different_colours() -> None:
    evaluation = network(("a", "b"), "eyeriss_like")
    cmes = cmes_of(evaluation)
    memories = {
        part.look.color for part in energy_bars(evaluation).parts if part.label not in {"MACs"}
    }
    causes = {part.look.color for part in latency_bars(evaluation).parts} - set(GREYS)
    operands = {part.look.color for part in memory_bars(cmes).parts} - set(GREYS)
    assert operands <= set(OPERANDS)
    assert not memories & causes
    assert not memories & operands
    assert not causes & operands


def test_an_operand_has_the_same_look_everywhere() -> None:
    alone, among = operand_looks("W"), operand_looks(("O", "A", "B", "W", "I"))
    assert alone["W"] == among["W"] == Look(WEIGHT_COLOR)
    assert len(set(among.values())) == 5


def test_energies_and_transfers_of_a_schedule_have_the_same_colours() -> None:
    assert [part.look for part in sent_parts()] == [KIND_LOOKS[kind] for kind in SENT_KINDS]
    energies = {part.look.color for part in layer_energy_bars(pipelined(4, 3, 4)).parts}
    assert energies <= {look.color for look in KIND_LOOKS.values()}
    layers = set(layer_colors(40, range(0, 40, 5)))
    assert not layers & {look.color for look in (*KIND_LOOKS.values(), *STALL_LOOKS.values())}
    assert KIND_LOOKS[BarKind.NODE].color in GREYS


def test_a_ramp_is_from_its_first_to_its_last_colour() -> None:
    assert [ramp_color(i, len(RAMP)) for i in range(len(RAMP))] == list(RAMP)
    assert len({ramp_color(i, 20) for i in range(20)}) == 20
    assert ramp_color(0, 1) == ramp_color(1, 3)


def test_the_style_sheet_has_the_colours_of_operands() -> None:
    light, *dark = STYLE.read_text(encoding="utf-8").split("--way0:")
    del light
    for i, color in enumerate(OPERANDS):
        assert f"--way{i}: {tone(Look(color)).light.lower()};" in "--way0:" + dark[0]
        for block in dark[1:]:
            assert f"--way{i}: {tone(Look(color)).dark.lower()};" in "--way0:" + block
