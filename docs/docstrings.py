"""Docstrings as Markdown, for the API reference: doctests as code, roles of Sphinx as names.

The help of an option is its docstring.
"""

import re
from ast import literal_eval
from typing import Final

from griffe import Attribute, Docstring, Extension, Object

_DOCTEST: Final = re.compile(r"^( *)>>> .*(?:\n(?!\s*\n).+)*", re.MULTILINE)
_OPTION: Final = re.compile(r"""\bOption\(\s*help=((?:\s*(?:'[^']*'|"[^"]*"))+)""")
_ROLE: Final = re.compile(r":(?:func|class|mod|meth|data|attr):(?=`)")


class MarkdownDocstrings(Extension):
    """Rewrites the docstring of every object that is read, and adds those of options."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """One module, class, function or attribute, with all that it contains."""
        if isinstance(obj, Attribute) and obj.docstring is None:
            help_text = option_help(str(obj.annotation))
            obj.docstring = Docstring(help_text, parent=obj) if help_text else None
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def option_help(annotation: str) -> str:
    """The help in the annotation of an option; nothing in any other annotation.

    >>> option_help("Annotated[int, Option(help='How many ' 'workers.', minimum=1)]")
    'How many workers.'
    """
    found = _OPTION.search(annotation)
    return "" if found is None else str(literal_eval(f"({found[1]})"))


def as_markdown(text: str) -> str:
    """A docstring as Markdown.

    >>> as_markdown("A :class:`Layer`.")
    'A `Layer`.'
    """
    return _DOCTEST.sub(_fenced, _ROLE.sub("", text))


def _fenced(doctest: re.Match[str]) -> str:
    indent = doctest[1]
    return f"{indent}```pycon\n{doctest[0]}\n{indent}```"
