"""Renders templates: user texts are escaped, and invisible characters are made visible."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nestmap.pipeline.pages.report.run import ReportedRun
from nestmap.pipeline.render.text.plain_table import printable

# --- the targets of links: places in the same file, or addresses of a server ---


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
    run=lambda run: f"#{run.anchor}", layer=lambda run, layer: f"#{layer_anchor(run, layer)}"
)
"""The links of the report, a single file."""


def render(template: str, view: object) -> Markup:
    """Renders a template of this package; its data is ``view``."""
    text = templates().get_template(f"{template}.html.jinja").render(view=view)
    return Markup(text)


def json_block(text: str) -> Markup:
    """JSON for a script element, escaped so that it cannot end the element."""
    return Markup(text.replace("<", "\\u003c"))


@cache
def templates() -> Environment:
    """The template environment; others can add templates of their own."""
    environment = Environment(
        loader=PackageLoader("nestmap.pipeline.pages.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters["json_block"] = json_block
    return environment


def _visible(value: object) -> object:
    """User texts with control characters and the like escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
