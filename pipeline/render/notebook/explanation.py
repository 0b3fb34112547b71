"""Shows an explanation as HTML, with a foldable section for each title."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from nestmap.pipeline.render.notebook.markup import collapsible, container, paragraph, preformatted
from nestmap.pipeline.render.text.plain_table import Line

_PROSE: Final = ("WHY",)


def explanation_html(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """An explanation; ``lines`` are its heading, its titled sections and its wrapped notes."""
    heading, *parts, _ = _blocks(lines)
    return container(
        paragraph(*heading), *(_part(title, body) for title, *body in parts), paragraph(*notes)
    )


def _blocks(lines: Sequence[Line]) -> Iterator[list[str]]:
    for is_blank, block in groupby(lines, key=lambda line: not line.text):
        if not is_blank:
            yield [line.text for line in block]


def _part(title: str, body: Sequence[str]) -> str:
    inside = paragraph(" ".join(body)) if title in _PROSE else preformatted(body)
    return collapsible(title, inside)
