"""How values show themselves: views by class, and text where there is none."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from nestmap.model import Loop
from nestmap.model.base import Frozen
from nestmap.model.display import html, view
from nestmap.model.evaluation.recording import Recording
from tests.notebooks.shown import html_of, html_or_none


class Shown(Frozen, frozen=True):
    """A model that a test registers a view for."""

    name: str


class Shorter(Shown, frozen=True):
    """A subclass of it."""


@dataclass(frozen=True, slots=True)
class Plain:
    """No model of nestmap's."""

    name: str

    _repr_html_ = html


@view.register
def shown_html(shown: Shown) -> str:
    """A paragraph."""
    return f"<p>{shown.name}</p>"


@pytest.mark.parametrize(
    "value", [1, None, object(), Plain("x"), Recording(), Loop(dimension="K", size=3)]
)
def test_what_has_no_view_is_shown_as_text(value: object) -> None:
    assert html(value) is None


def test_notebooks_print_what_has_no_view() -> None:
    assert html_or_none(Plain("x")) is None
    assert html_or_none(Recording()) is None


def test_a_view_is_that_of_the_nearest_class() -> None:
    assert html_of(Shown(name="a")) == "<p>a</p>"
    assert html_of(Shorter(name="b")) == "<p>b</p>"


def test_the_hook_is_no_field() -> None:
    assert set(Shown.model_fields) == {"name"}
    assert Shown(name="a").model_dump() == {"name": "a"}


def test_views_are_loaded_when_the_first_value_shows_itself() -> None:
    code = """
import sys
from nestmap import NOTEBOOK_VIEWS, linear
layer = linear("fc", (1, 64), 32)
before = NOTEBOOK_VIEWS in sys.modules
print(before, layer._repr_html_()[:5], NOTEBOOK_VIEWS in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "<div>", "True"]
