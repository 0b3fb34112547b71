"""The addresses of the pages; names are in the query string, which allows any character."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from nestmap.pipeline.pages.report.links import Links

RUNS: Final = "/"
COMPARE: Final = "/compare"
SQL: Final = "/sql"
SWEEPS: Final = "/sweeps"
SCHEMA: Final = "/schema"
STATIC: Final = "/static/"


def run_address(run: UUID) -> str:
    """The page of a run."""
    return f"/run/{run}"


def layer_address(run: UUID, layer: str) -> str:
    """The page of a layer of a run."""
    return f"{run_address(run)}/layer?{urlencode({'name': layer})}"


LINKS: Final = Links(
    run=lambda run: run_address(run.id),
    layer=lambda run, layer: layer_address(run.id, layer),
)
"""The links in pages of the report."""


def sweep_address(key: str) -> str:
    """The page of a sweep."""
    return f"/sweep/{key}"


def design_address(key: str, number: int) -> str:
    """The page of a design of a sweep."""
    return f"{sweep_address(key)}/{number}"


def sql_address(sql: str) -> str:
    """The page with a query to run."""
    return f"{SQL}?{urlencode({'sql': sql})}"
