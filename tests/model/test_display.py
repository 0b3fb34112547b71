"""How values show themselves: views by class, and text where there is none."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from nestmap.model import Loop
from nestmap.model.base import Frozen
from nestmap.model.display import html, view
from nestmap.model.evaluation.recording import Recording


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


def test_a_class_without_a_view_asks_for_one() -> None:
    assert Plain("x")._repr_html_() is None
    assert Recording()._repr_html_() is None


def test_a_view_is_that_of_the_nearest_class() -> None:
    assert Shown(name="a")._repr_html_() == "<p>a</p>"
    assert Shorter(name="b")._repr_html_() == "<p>b</p>"


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
