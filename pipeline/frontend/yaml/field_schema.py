"""How a format of input files is declared: its fields, once, for the parser and for the docs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, final

KEY: Final = "*"
"""In the place of a part: any key of a mapping."""

ITEM: Final = "[]"
"""In the place of a part: any item of a list."""


class Need(Enum):
    """Whether a field must be there."""

    REQUIRED = "required"
    CONDITIONAL = "required or not, as other fields say"
    OPTIONAL = "optional"
    IGNORED = "may be there as in ZigZag's files, and means nothing"
    REFUSED = "known, and wrong here"


class Origin(StrEnum):
    """Whose field it is."""

    ZIGZAG = "ZigZag"
    STREAM = "Stream"
    NESTMAP = "nestmap"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of a mapping in a file; two fields are the same only if they are one object.

    ``kind`` says what stands there, with its unit, in the words of errors; ``example`` is YAML,
    empty where parts of the format have one.
    ``default`` is the YAML that means the same as leaving the field out; where no one value does,
    ``otherwise`` says what counts then. ``meaning`` and ``otherwise`` are Markdown.
    """

    name: str
    meaning: str
    kind: str
    example: str
    need: Need = Need.REQUIRED
    default: str = ""
    otherwise: str = ""
    origin: Origin = Origin.ZIGZAG


@final
@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with known fields: what a parser reads at ``at``, a path from the root.

    The fields stand in the order in which errors list them.
    """

    title: str
    at: tuple[str, ...]
    meaning: str
    fields: tuple[Field, ...]


@final
@dataclass(frozen=True, slots=True)
class Form:
    """A way to write an item of a list or a pair of a mapping; its meaning is Markdown."""

    written: str
    meaning: str


@final
@dataclass(frozen=True, slots=True)
class Entries:
    """A list, or a mapping with free keys, at ``at``; ``kind`` is what errors call it."""

    title: str
    at: tuple[str, ...]
    meaning: str
    kind: str
    forms: tuple[Form, ...]


Part = Section | Entries
"""What a format consists of."""


def one_of(names: Iterable[str]) -> str:
    """The kind of a field with a closed set of texts."""
    return f"one of {', '.join(names)}"
