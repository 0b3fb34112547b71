"""Lays out whole pages: header, menu and body, styles and scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, NamedTuple, final

from markupsafe import Markup

from nestmap.pipeline.pages.report.assets import INLINE, SCRIPTS, Assets, Static, inline, policy
from nestmap.pipeline.pages.report.render import render

NOTHING: Final = Markup("")


@final
@dataclass(frozen=True, slots=True)
class _DocumentView:
    """The template's data for a whole page."""

    title: str
    version: str
    policy: str
    body: Markup
    menu: Markup
    style: Markup
    theme: Markup
    scripts: tuple[Markup, ...]
    assets: Assets


def document(title: str, body: Markup, assets: Assets = INLINE, menu: Markup = NOTHING) -> str:
    """A whole page; ``menu`` are the links in its header (``<a>`` elements)."""
    inside = assets.folder is None
    scripts = tuple(inline(file) for file in SCRIPTS) if inside else ()
    theme = inline(Static.THEME) if inside else NOTHING
    view = _DocumentView(
        title=title,
        version=version("nestmap"),
        policy=policy((theme, *scripts) if inside else ()),
        body=body,
        menu=menu,
        style=inline(Static.STYLE) if inside else NOTHING,
        theme=theme,
        scripts=scripts,
        assets=assets,
    )
    return render("document", view) + "\n"


class Section(NamedTuple):
    """A run on a page of several: its anchor, its name in the menu, and its content."""

    anchor: str
    name: str
    body: Markup


def comparison_document(title: str, comparison: Markup, sections: Sequence[Section]) -> str:
    """A page of several runs: what compares them, then each of them."""
    menu = Markup('<a href="#comparison">Comparison</a>')
    for section in sections:
        menu += Markup('<a href="#{}">{}</a>').format(section.anchor, section.name)
    body = render("runs", (comparison, *(section.body for section in sections)))
    return document(title, body, menu=menu)
