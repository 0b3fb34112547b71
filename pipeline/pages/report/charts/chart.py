"""A chart: what it shows in words, and how a browser draws it."""

from __future__ import annotations

from pydantic import Field

from nestmap.model.base import Frozen


class Chart(Frozen, frozen=True):
    """An interactive chart for a page that loads Vega (``vega_script``).

    ``name`` is for the page's markup. ``summary`` says in words what the chart shows, with its
    main figures: its text alternative. ``spec`` is JSON text: a Vega-Lite specification with its
    data in it.
    """

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    summary: str
    spec: str
