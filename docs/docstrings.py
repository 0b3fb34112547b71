"""Docstrings as Markdown, for the API reference: doctests as code, roles of Sphinx as names."""

from __future__ import annotations

import re
from typing import Final

from griffe import Extension, Object

_DOCTEST: Final = re.compile(r"^( *)>>> .*(?:\n(?!\s*\n).+)*", re.MULTILINE)
_ROLE: Final = re.compile(r":(?:func|class|mod|meth|data|attr):(?=`)")


class MarkdownDocstrings(Extension):
    """Rewrites the docstring of every object that is read."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """One module, class, function or attribute, with all that it contains."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring as Markdown.

    >>> as_markdown("A :class:`Layer`.")
    'A `Layer`.'
    """
    return _DOCTEST.sub(_fenced, _ROLE.sub("", text))


def _fenced(doctest: re.Match[str]) -> str:
    indent = doctest[1]
    return f"{indent}```pycon\n{doctest[0]}\n{indent}```"
