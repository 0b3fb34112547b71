"""The pictures of the documents show what the script that draws them still finds."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.blocks import ROOT

NAMES = (
    *("concept-even.svg", "concept-loop-nest.svg", "concept-relevance.svg", "concept-stalls.svg"),
    *("see-accelerator.svg", "see-energy.svg", "see-latency.svg", "see-memories.svg"),
    *("see-roofline.svg", "see-schedule-1.svg", "see-schedule-2.svg"),
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pictures, drawn anew."""
    folder = tmp_path_factory.mktemp("pictures")
    script = str(ROOT / "docs" / "pictures.py")
    subprocess.run([sys.executable, script, str(folder)], check=True)
    return folder


def labels(picture: Path) -> list[str]:
    """The words and figures in a picture."""
    root = ElementTree.parse(picture).getroot()
    found = [x.text for x in root.iter("{http://www.w3.org/2000/svg}text") if x.text]
    assert found
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_pictures_are_up_to_date(drawn: Path, name: str) -> None:
    assert labels(drawn / name) == labels(ROOT / "docs" / "images" / name)


def test_there_are_no_others(drawn: Path) -> None:
    images = ROOT / "docs" / "images"
    kept = {path.name for kind in ("concept-*", "see-*.svg") for path in images.glob(kind)}
    assert {path.name for path in drawn.iterdir()} == kept == set(NAMES)


def test_the_page_says_what_they_show() -> None:
    text = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    for name, figures in (
        ("concept-relevance.svg", ("144 times", "196 times", "288 times")),
        ("concept-even.svg", ("1.220 µJ",)),
        ("concept-loop-nest.svg", ("944.3 nJ",)),
        ("concept-stalls.svg", ("12,093",)),
    ):
        picture = " ".join(labels(ROOT / "docs" / "images" / name))
        assert [f for f in figures if f not in text or f not in picture] == []
