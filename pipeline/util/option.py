"""Describes an option: its help, and how the command line spells it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import fill, indent
from typing import Final, TypeVar, final

_F = TypeVar("_F", bound=Callable[..., object])

_FLAG: Final = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The description of a field of an options record, given as ``Annotated[type, Option(...)]``.

    The command line makes an option or, if ``is_argument``, a positional argument of the field.
    ``flags`` are separated by spaces; by default the flag is the name of the field. ``default``
    applies where the default of the field is None. ``group`` is the section of the help; by default
    that of the record. ``complete`` lists what a shell may complete the beginning of a value to.
    """

    help: str
    flags: str = ""
    metavar: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    default: str | int | None = None
    is_argument: bool = False
    group: str | None = None
    complete: Callable[[str], list[str]] | None = None


@final
@dataclass(frozen=True, slots=True)
class Group:
    """The section of the help in which a record of options stands."""

    name: str


def explain_options(annotations: Mapping[str, object]) -> Callable[[_F], _F]:
    """Adds what each option does to the docstring of a function that takes them as keywords.

    ``annotations`` are those of the options: ``Annotated[type, Option(...)]`` by name. Where their
    help names flags of the command line, the docstring names keywords.
    """

    def explained(function: _F) -> _F:
        if function.__doc__ is not None:  # python -OO leaves it out
            lines = "\n".join(_explanations(annotations))
            function.__doc__ = f"{function.__doc__.rstrip()}\n\n    Options:\n{lines}\n    "
        return function

    return explained


def _explanations(annotations: Mapping[str, object]) -> Iterator[str]:
    for name, annotation in annotations.items():
        found: tuple[object, ...] = getattr(annotation, "__metadata__", ())
        for option in found:
            if isinstance(option, Option):
                text = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), option.help)
                yield indent(fill(f"{name}: {text}", 88, subsequent_indent=" " * 4), " " * 8)
