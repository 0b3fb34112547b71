"""What the page of formats and editors show of files: their fields, and forms of values."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, final

KEY: Final = "*"
"""Stands for any key of a mapping in a path."""

ITEM: Final = "[]"
"""Stands for any item of a list in a path."""


class Need(Enum):
    """Whether a field is required, as documented."""

    REQUIRED = "required"
    CONDITIONAL = "required depending on other fields"
    OPTIONAL = "optional"
    IGNORED = "accepted because ZigZag's files have it, and ignored"
    REFUSED = "known, but not allowed here"


class Origin(StrEnum):
    """The tool that introduced a field."""

    ZIGZAG = "ZigZag"
    STREAM = "Stream"
    NESTMAP = "nestmap"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of a mapping in a file, compared by identity.

    Made from a :class:`~nestmap.pipeline.frontend.yaml.file_model.FileModel`.

    ``kind`` describes the value and its unit, as errors do; ``example`` is YAML, empty if other
    parts of the format have an example.
    ``default`` is the YAML value equivalent to leaving the field out; if there is none,
    ``otherwise`` describes what applies instead. ``meaning`` and ``otherwise`` are Markdown.
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
    """A mapping with known fields at ``at``, a path from the root.

    Errors list the fields in this order.
    """

    title: str
    at: tuple[str, ...]
    meaning: str
    fields: tuple[Field, ...]


@final
@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a list item or a mapping entry; its meaning is Markdown."""

    written: str
    meaning: str


@final
@dataclass(frozen=True, slots=True)
class Forms:
    """The ways to write what a list, or a mapping with free keys, has: metadata of a field."""

    title: str
    meaning: str
    forms: tuple[Form, ...]


@final
@dataclass(frozen=True, slots=True)
class Entries:
    """A list, or a mapping with free keys, at ``at``; ``kind`` is its name in errors."""

    title: str
    at: tuple[str, ...]
    meaning: str
    kind: str
    forms: tuple[Form, ...]


Part = Section | Entries
"""A part of a format."""


def one_of(names: Iterable[str]) -> str:
    """The kind of a field with a fixed set of values."""
    return f"one of {', '.join(names)}"
