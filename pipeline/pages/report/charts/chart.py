"""A chart: its text alternative and its Vega-Lite specification."""

from __future__ import annotations

from pydantic import Field

from nestmap.model.base import Frozen


class Chart(Frozen, frozen=True):
    """An interactive chart for a page that loads Vega (``vega_script``).

    ``name`` is for the page's markup. ``summary`` is the text alternative: a description of the
    chart with its main numbers. ``spec`` is JSON text: a Vega-Lite specification including its
    data.
    """

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    summary: str
    spec: str
