"""A value of a YAML file with its location; its methods read it as a checked type."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from re import compile as pattern
from re import fullmatch
from typing import Final, TypeVar, final

import yaml
from pydantic import ValidationError
from yaml.constructor import SafeConstructor

from nestmap.model.errors import InputError, shortened, suggestion
from nestmap.pipeline.frontend.yaml.field_schema import one_of

E = TypeVar("E", bound=StrEnum)

LARGEST: Final = 2**62
"""The largest whole number accepted: it fits the cost model's 64-bit counters."""

_TAG: Final = "tag:yaml.org,2002:"
_READ: Final = SafeConstructor()
NAME: Final = r"[A-Za-z][A-Za-z0-9_]{0,31}"
NAME_HINT: Final = " (a letter, then letters, digits or _, at most 32)"
_ANOTHER_BASE: Final = pattern(r"[-+]?(0[0-9_]+|[0-9_]+(:[0-9]+)+(\.[0-9_]*)?)")
"""Numbers that YAML 1.1 takes for octal ones (010) or ones of base 60 (1:30)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value in a YAML file.

    ``line`` counts from 1 (for a collection, the line of its key); 0: the value is in no file.
    ``path`` is the path from the root, such as ``memories.rf_2B.ports[0].type``. The methods read
    the value as a given type; all raise :class:`InputError` with file, line and path if it has
    another.
    """

    value: yaml.Node
    file: str
    line: int
    path: str = ""

    @property
    def place(self) -> str:
        """File and line of the value."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def where(self) -> str:
        """File, line and path of the value, as errors show them."""
        return ": ".join(filter(None, (self.place, self.path)))

    def error(self, expected: str, found: str | None = None) -> InputError:
        """An error about this value; ``found`` defaults to the value itself."""
        return InputError(self.where, found or _described(self.value), expected)

    @contextmanager
    def locate_errors(self) -> Generator[None]:
        """Turns a validation error of a model in the block into an error about this value."""
        try:
            yield
        except ValidationError as error:
            raise InputError.of(self.where, error) from None

    def at(self, *steps: str | int) -> Node:
        """The value of a field or an item, which must be there."""
        node = self
        for step in steps:
            if isinstance(step, str):
                node = node.entries()[step]
            else:
                node = node.sequence()[step] if node.is_sequence else node.numbered("")[step]
        return node

    def entries(self, expected: str = "names with values") -> dict[str, Node]:
        """The values of a mapping by key, in file order; of equal keys the last one wins."""
        if not isinstance(self.value, yaml.MappingNode):
            raise self.error(expected)
        return {self._key(key): self._entry(key, value) for key, value in self.value.value}

    def numbered(self, expected: str) -> dict[int, Node]:
        """The values of a mapping whose keys are different whole numbers from 0 on."""
        if not isinstance(self.value, yaml.MappingNode):
            raise self.error(expected)
        entries: dict[int, Node] = {}
        for key, value in self.value.value:
            place = Node(key, self.file, _line(key), self.path)
            number = place.integer(expected, minimum=0, maximum=2**31 - 1)
            if number in entries:
                raise place.error("each number once", f"a second {number}")
            entries[number] = self._entry(key, value)
        return entries

    def sequence(self, expected: str = "a list") -> tuple[Node, ...]:
        """The items of a list."""
        if not isinstance(self.value, yaml.SequenceNode):
            raise self.error(expected)
        items: list[yaml.Node] = self.value.value
        return tuple(
            Node(item, self.file, _line(item), f"{self.path}[{i}]") for i, item in enumerate(items)
        )

    def integer(
        self, expected: str = "a whole number", *, minimum: int = -LARGEST, maximum: int = LARGEST
    ) -> int:
        """A whole number."""
        number = self._number("int")
        if not isinstance(number, int) or number < minimum:
            raise self.error(expected)
        if number > maximum:
            raise self.error(f"{expected}, at most {maximum}")
        return number

    def boolean(self, expected: str = "true or false") -> bool:
        """A truth value, in any spelling of YAML 1.1."""
        if not self._is("bool"):
            raise self.error(expected)
        spelling: str = self.value.value
        return spelling.lower() in ("true", "yes", "on")

    def text(self, expected: str = "a text") -> str:
        """A non-empty text."""
        if not self._is("str") or not self.value.value.strip():
            raise self.error(expected)
        text: str = self.value.value
        return text

    def text_or_none(self) -> str | None:
        """The text; ``None`` if the value is not a text."""
        return str(self.value.value) if self._is("str") else None

    def number_or_none(self) -> int | float | None:
        """The number; ``None`` if the value is not a number."""
        return self._number("int", "float")

    def boolean_or_none(self) -> bool | None:
        """The truth value; ``None`` if the value is not one."""
        return self.boolean() if self._is("bool") else None

    def name(self, expected: str = "a name") -> str:
        """A letter followed by at most 31 letters, digits and underscores."""
        if not is_name(self.text(expected)):
            raise self.error(expected + NAME_HINT)
        return self.text()

    def one_of(self, known: Collection[str]) -> str:
        """One of the known texts."""
        text = self.text(one_of(known))
        if text not in known:
            raise self.error(suggestion(text, known))
        return text

    def choice(self, kind: type[E]) -> E:
        """A member of an enumeration."""
        return kind(self.one_of([str(member) for member in kind]))

    @property
    def content(self) -> object:
        """The value as Python has it: dictionaries, tuples, texts, numbers; others as this node."""
        if self.is_mapping:
            numbered = self.numbered("values by number") if self.is_numbered else {}
            entries = numbered or self.entries()
            return {name: entry.content for name, entry in entries.items()}
        if self.is_sequence:
            return tuple(item.content for item in self.sequence())
        match self.value.tag.removeprefix(_TAG):
            case "str":
                return str(self.value.value)
            case "null":
                return None
            case "bool":
                return self.boolean()
            case _:
                number = self.number_or_none()
                return self if number is None else number

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self._is("null")

    @property
    def is_sequence(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.value, yaml.MappingNode)

    @property
    def is_numbered(self) -> bool:
        """Whether the value is a mapping whose first key is a number."""
        if not isinstance(self.value, yaml.MappingNode) or not self.value.value:
            return False
        key: yaml.Node = self.value.value[0][0]
        return Node(key, self.file, _line(key))._is("int")

    def is_text(self, text: str) -> bool:
        """Whether the value is exactly that text."""
        return self._is("str") and bool(self.value.value == text)

    def _is(self, *types: str) -> bool:
        is_scalar = isinstance(self.value, yaml.ScalarNode)
        return is_scalar and self.value.tag.removeprefix(_TAG) in types

    def _number(self, *types: str) -> int | float | None:
        if not isinstance(self.value, yaml.ScalarNode) or not self._is(*types):
            return None
        try:
            number: int | float = (
                _READ.construct_yaml_int(self.value)
                if self._is("int")
                else _READ.construct_yaml_float(self.value)
            )
        except (ValueError, OverflowError):  # tagged as a number but not one: 0b, !!int x
            return None
        if _ANOTHER_BASE.fullmatch(self.value.value):
            found = f"{shortened(self.value.value)}, which YAML reads as {number}"
            raise self.error("a decimal number without leading zeros", found)
        return number

    @property
    def number_hint(self) -> str:
        """A hint for texts that look like numbers: YAML 1.1 requires 1.0e-3 for 1e-3."""
        try:
            float(self.value.value if self._is("str") else "")
        except ValueError:
            return ""
        return " (YAML reads this value as text: write it without quotes, and 1e-3 as 1.0e-3)"

    def _key(self, key: yaml.Node) -> str:
        if not Node(key, self.file, _line(key))._is("str"):
            where = Node(key, self.file, _line(key), self.path)
            raise where.error("a text as key", f"the key {_described(key)}")
        name: str = key.value
        return name

    def _entry(self, key: yaml.Node, value: yaml.Node) -> Node:
        line = _line(value if isinstance(value, yaml.ScalarNode) else key)
        name = shortened(key.value if key.value.isprintable() else repr(key.value))
        return Node(value, self.file, line, f"{self.path}.{name}" if self.path else name)


def is_name(text: str) -> bool:
    """Whether a text is a letter followed by at most 31 letters, digits and underscores."""
    return fullmatch(NAME, text) is not None


def _line(node: yaml.Node) -> int:
    mark: yaml.Mark | None = node.start_mark
    return 0 if mark is None else mark.line + 1


def _described(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "fields" if node.value else "no field"
    if isinstance(node, yaml.SequenceNode):
        return "a list" if node.value else "an empty list"
    kind = node.tag.removeprefix(_TAG)
    if kind == "null":
        return "nothing"
    if kind == "str":
        return _quoted(node.value)
    text = shortened(node.value)
    plain = kind in ("int", "float") or text.lower() in ("true", "false")
    return text if plain else f"{text} (which YAML reads as a {kind})"


def _quoted(text: str) -> str:
    return shortened(repr(text))
