"""The comparison with measured chips: what docs/silicon.md shows is what nestmap says today."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.silicon.__main__ import BEGIN, DOCUMENT, END, FIGURE
from benchmarks.silicon.eyeriss import MEASURED, Modelled, modelled
from benchmarks.silicon.figure import eyeriss_figure
from benchmarks.silicon.table import error, eyeriss_table

from nestmap.pipeline.render.figures import save
from tests.docs.test_pictures import labels

UNITS, CLOCK = 168, 200e3  # cycles in a millisecond
MACS = {"CONV1": 0.42, "CONV2": 0.90, "CONV3": 0.60, "CONV4": 0.45, "CONV5": 0.30}  # the paper's


@pytest.fixture(scope="module")
def found() -> dict[str, Modelled]:
    """What the model says."""
    return modelled()


def test_the_document_has_the_table_of_today(found: dict[str, Modelled]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == eyeriss_table(MEASURED, found)


def test_the_picture_is_that_of_today(found: dict[str, Modelled], tmp_path: Path) -> None:
    save(eyeriss_figure(MEASURED, found), tmp_path / FIGURE.name)
    assert labels(tmp_path / FIGURE.name) == labels(FIGURE)


def test_active_units_are_those_of_the_chip(found: dict[str, Modelled]) -> None:
    assert {name: x.units for name, x in found.items()} == {
        name: x.units for name, x in MEASURED.items()
    }


@pytest.mark.parametrize("layer", MEASURED)
def test_no_time_is_below_that_of_the_multiplications(
    layer: str, found: dict[str, Modelled]
) -> None:
    model, least = found[layer], MACS[layer] * 1e9 / UNITS / CLOCK
    assert least < model.ideal <= model.milliseconds
    # the paper's own bound: its multiply-accumulates on its active units
    assert model.ideal == pytest.approx(
        MACS[layer] * 1e9 / MEASURED[layer].units / CLOCK, rel=0.025
    )


def test_errors_are_those_that_the_page_explains(found: dict[str, Modelled]) -> None:
    total = sum(x.milliseconds for x in MEASURED.values())
    assert error(total, sum(x.milliseconds for x in found.values())) == "-4%"
    assert error(total, sum(x.whole[0] for x in found.values())) == "+19%"
    assert error(total, sum(x.ideal for x in found.values())) == "-13%"
    for name, chip in MEASURED.items():
        assert found[name].milliseconds == pytest.approx(chip.milliseconds, rel=0.075)
        assert name == "CONV3" or found[name].buffer == pytest.approx(chip.buffer, rel=0.065)
