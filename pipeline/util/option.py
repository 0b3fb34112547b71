"""Describes an option: its help, and how the command line spells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final


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
