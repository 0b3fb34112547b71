"""Figures look as they did when somebody last looked at them."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.testing.compare import compare_images

from nestmap.pipeline.render.figures.scatter import draw_scatter
from tests.pipeline.render.figures.baselines import FIGURES, FOLDER, clouds, draw

DRAWN_BY = "3.11."
"""The matplotlib whose letters are in the committed images."""

TOLERANCE = 3.0
"""Root mean square of the differences, of 255."""


@pytest.mark.skipif(not mpl.__version__.startswith(DRAWN_BY), reason="letters differ slightly")
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_the_committed_one(name: str, tmp_path: Path) -> None:
    path = draw(name, tmp_path)
    assert compare_images(str(FOLDER / path.name), str(path), TOLERANCE) is None


def test_another_figure_is_noticed(tmp_path: Path) -> None:
    path = draw("scatter", tmp_path, draw_scatter(clouds(190), "conv1 on tpu_like"))
    assert compare_images(str(FOLDER / path.name), str(path), TOLERANCE)


def test_the_committed_images_are_those_and_small() -> None:
    assert {path.stem for path in FOLDER.glob("*")} == set(FIGURES)
    assert sum(path.stat().st_size for path in FOLDER.glob("*")) < 480_000
