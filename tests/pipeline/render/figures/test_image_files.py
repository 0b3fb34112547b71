"""Files of figures: their kinds, the same bytes each time, and what is said where it fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from nestmap.model import InputError
from nestmap.pipeline.render import figures
from nestmap.pipeline.render.figures import layers_figure, loops_figure, save
from nestmap.pipeline.render.figures.preconditions import ENDINGS, check_matplotlib, file_name
from nestmap.pipeline.util import extras as needs_module
from tests.pipeline.render.figures.baselines import FIGURES
from tests.pipeline.render.figures.samples import evaluated, many_names, network

STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_ending_says_what_is_written(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"figure{ending.upper()}"
    save(loops_figure(evaluated("tpu_like", 8, 64, 128)), path)
    assert path.read_bytes().startswith(STARTS[ending])
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["layers", "roofline", "scatter-many"])
def test_the_same_figure_is_the_same_file(name: str, ending: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}{ending}" for i in range(2)]
    for path in paths:
        save(FIGURES[name](), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    for word in (b"Date", b"Matplotlib v"):
        assert word not in first


def test_hostile_names_do_not_break_files_of_lines(tmp_path: Path) -> None:
    from xml.etree import ElementTree  # noqa: PLC0415

    path = tmp_path / "layers.svg"
    save(layers_figure(network(many_names(26))), path)
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("figure.jpg", r"found the ending '\.jpg'; expected a figure's: \.png, \.svg, \.pdf"),
        ("figure", r"found no ending; expected a figure's"),
        ("missing/figure.png", r"missing/figure\.png: found No such file or directory"),
        ("file/figure.png", r"file/figure\.png: found Not a directory"),
        ("folder.png", r"folder\.png: found "),
    ],
)
def test_what_cannot_be_written_is_said(name: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=told):
        save(Figure(), tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder.png"}


def test_settings_of_the_user_are_neither_used_nor_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, other = tmp_path / "plain.png", tmp_path / "other.png"
    save(layers_figure(network(("a",))), plain)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    monkeypatch.setitem(mpl.rcParams, "text.usetex", True)
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)
    monkeypatch.setitem(mpl.rcParams, "savefig.dpi", 10.0)
    before = mpl.rcParams.copy()
    save(layers_figure(network(("a",))), other)
    assert mpl.rcParams == before
    assert plain.read_bytes() == other.read_bytes()


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def nothing(name: str) -> None:
        assert name == "matplotlib"

    monkeypatch.setattr(needs_module, "find_spec", nothing)
    monkeypatch.delitem(vars(figures), "layers_figure", raising=False)  # where it was used before
    return check_matplotlib


def test_missing_matplotlib_is_said_with_the_remedy(without_matplotlib: Callable[[], None]) -> None:
    told = r"no matplotlib in this Python; expected what `pip install 'nestmap\[plot\]'` installs"
    with pytest.raises(InputError, match=told):
        without_matplotlib()
    with pytest.raises(InputError, match=told):
        _ = figures.layers_figure


def test_there_is_nothing_else_in_the_package() -> None:
    with pytest.raises(AttributeError, match="pie_figure"):
        getattr(figures, "pie_figure")  # noqa: B009 (type checkers know that there is none)
    for name in dir(figures):
        assert callable(getattr(figures, name))


def test_nothing_imports_matplotlib_before_it_draws() -> None:
    program = """
import sys
import nestmap.pipeline.explore.api, nestmap.pipeline.cli.plot, nestmap.pipeline.render.figures
import nestmap.pipeline.explore.plan, nestmap.pipeline.stages
assert "matplotlib" not in sys.modules
from nestmap.pipeline.render.figures import save
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("conv1", "conv1"), ("a/b c", "a_b_c"), ("..", "_"), ("x" * 200, "x" * 80), ("$$", "_")],
)
def test_file_names_are_harmless(name: str, expected: str) -> None:
    assert file_name(name) == expected
