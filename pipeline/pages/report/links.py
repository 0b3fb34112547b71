"""The targets of links: places in the same file, or addresses of a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from nestmap.pipeline.pages.report.run import ReportedRun


@final
@dataclass(frozen=True, slots=True)
class Links:
    """The targets of links to a run, and to the explanation of one of its layers."""

    run: Callable[[ReportedRun], str]
    layer: Callable[[ReportedRun, str], str]


def layer_anchor(run: ReportedRun, layer: str) -> str:
    """The id of a layer's explanation in the page."""
    return f"{run.anchor}-layer-{run.positions[layer]}"


IN_PAGE: Final = Links(
    run=lambda run: f"#{run.anchor}",
    layer=lambda run, layer: f"#{layer_anchor(run, layer)}",
)
"""The links of the report, a single file."""
