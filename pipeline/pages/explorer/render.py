"""Addresses of the explorer's pages, and its templates in the documents of the report."""

from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from starlette.responses import HTMLResponse

from nestmap.pipeline.pages.report.assets import Assets
from nestmap.pipeline.pages.report.layout import document
from nestmap.pipeline.pages.report.render import Links, templates

# --- the addresses of the pages; names are in the query string, which allows any character ---

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
    run=lambda run: run_address(run.id), layer=lambda run, layer: layer_address(run.id, layer)
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


STYLE: Final = "explorer.css"
SCRIPT: Final = "explorer.js"

_ASSETS: Final = Assets(STATIC, styles=(STYLE,), scripts=(SCRIPT,))
_PLACES: Final = ((RUNS, "Runs"), (SWEEPS, "Sweeps"), (SQL, "SQL"), (SCHEMA, "Schema"))


def page(title: str, body: Markup, at: str = "", status: int = 200) -> HTMLResponse:
    """A whole page; ``at`` is its address if that is in the menu."""
    return HTMLResponse(document(title, body, _ASSETS, _menu(at)), status)


def _menu(at: str) -> Markup:
    links = (
        Markup('<a href="{}"{}>{}</a>').format(
            place, Markup(' aria-current="page"') if place == at else "", name
        )
        for place, name in _PLACES
    )
    return Markup(" ").join(links)


def render(template: str, view: object) -> Markup:
    """Renders one of the explorer's templates; its data is ``view``, and all of it is escaped."""
    return Markup(_templates().get_template(f"{template}.html.jinja").render(view=view))


def own_text(name: str) -> str:
    """The contents of a style or script of the explorer."""
    return (files("nestmap.pipeline.pages.explorer") / "static" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    """The templates of the report, whose macros the explorer uses, and the explorer's own."""
    packages = ("nestmap.pipeline.pages.explorer", "nestmap.pipeline.pages.report")
    return templates().overlay(loader=ChoiceLoader([PackageLoader(name) for name in packages]))
