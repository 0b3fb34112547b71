"""Charts outside pages: in files, in notebooks, and read by Altair."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import altair as alt
import pytest

from nestmap.model import InputError
from nestmap.pipeline.render.charts import Chart, run_charts
from nestmap.pipeline.render.charts.chart import MIME, WIDTH
from nestmap.pipeline.util import extras
from nestmap.pipeline.util.image_files import file_name
from tests.pipeline.render.samples import machine, many_names, network

STARTS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}


@pytest.fixture(scope="module", name="chart")
def _chart() -> Chart:
    return run_charts(network(("a", "b")), machine("tpu_like"))[0]


@pytest.mark.parametrize("ending", STARTS)
def test_the_name_of_a_file_says_its_format(chart: Chart, ending: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}{ending}" for name in ("one", "again", "dark")]
    chart.save(files[0])
    chart.save(str(files[1]))
    chart.save(files[2], dark=True)
    one, again, dark = (file.read_bytes() for file in files)
    assert one.lstrip().startswith(STARTS[ending])
    assert one != dark
    if ending in {".svg", ".png"}:  # the others number their parts anew
        assert one == again
    assert {x.name for x in tmp_path.iterdir()} == {x.name for x in files}


def test_a_specification_is_complete(chart: Chart, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.json")
    found = json.loads((tmp_path / "chart.json").read_text())
    assert found == chart.specification
    assert (found["width"], found["title"]) == (WIDTH, chart.title)
    assert alt.Chart.from_dict(found).to_dict()["datasets"] == found["datasets"]


def test_a_chart_in_a_file_is_light_or_dark(chart: Chart) -> None:
    assert 'fill="white"' in chart.svg() or 'fill="#ffffff"' in chart.svg()
    assert "#14181d" in chart.svg(dark=True)
    assert "#14181d" not in chart.svg()


def test_names_are_in_the_picture_as_they_are() -> None:
    names = many_names(30)
    for chart in run_charts(network(names), machine("tpu_like")):
        root = ElementTree.fromstring(chart.svg())
        assert root.get("width") is not None
        written = {x.text for x in root.iter("{http://www.w3.org/2000/svg}text")}
        assert chart.title in written


def test_notebooks_show_a_chart(chart: Chart) -> None:
    show = cast(
        "Callable[[Chart, None, None], dict[str, object]]", vars(Chart)["_repr_mimebundle_"]
    )
    shown = show(chart, None, None)
    assert shown[MIME] == chart.specification
    assert str(shown["image/svg+xml"]).startswith("<svg")
    assert str(shown["text/plain"]).startswith("Energy per layer: ")


def test_other_endings_are_refused(chart: Chart, tmp_path: Path) -> None:
    for name, found in (("x.jpg", "the ending '.jpg'"), ("x", "no ending")):
        with pytest.raises(InputError, match=f"found {found}; expected one of .svg, .png"):
            chart.save(tmp_path / name)
    with pytest.raises(InputError, match="No such file"):
        chart.save(tmp_path / "none" / "x.svg")
    assert not list(tmp_path.iterdir())


def test_without_vl_convert_the_specification_remains(
    chart: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None:
        assert name == "vl_convert"

    monkeypatch.setattr(extras, "find_spec", nothing)
    chart.save(tmp_path / "chart.json")
    with pytest.raises(InputError, match=r"no vl-convert-python .*nestmap\[plot\]"):
        chart.save(tmp_path / "chart.svg")


@pytest.mark.parametrize("name", ["", "/", "..", "a/b", "x" * 500, "\0", "con:1"])
def test_names_of_files_are_harmless(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{file_name(name)}.svg").touch()
    assert len(list(tmp_path.iterdir())) == 1
