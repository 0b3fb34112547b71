"""JSON Schemas of the YAML formats, for editors, from what the parsers declare."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import yaml

from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    KEY,
    Entries,
    Field,
    Need,
    Part,
    Section,
)
from nestmap.pipeline.frontend.yaml.formats import CORES_2024, MAPPING_OF_STREAM, PARTS, FileFormat
from nestmap.pipeline.util.atomic_files import Json

Schema = dict[str, Json]

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The dialect that most editors support."""

_LINK: Final = re.compile(r"\[([^]]*)\]\(#[^)]*\)")
"""A link to another part of the documentation."""

_ONE_OF: Final = "one of "
_ANYTHING: Final = "anything"
_CORE: Final[Schema] = {"$ref": "#/definitions/core"}
_CORES: Final[dict[tuple[str, ...], Schema]] = {
    ("cores",): {"items": _CORE, "additionalProperties": _CORE},
    ("offchip_core",): _CORE,
}
"""Where cores stand in files of several cores."""

_TYPES: Final[dict[type, str]] = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"
}  # fmt: skip
"""The JSON type of a value, by the type of an example."""


_OTHER_FORMS: Final = {FileFormat.CORES: CORES_2024, FileFormat.MAPPING: MAPPING_OF_STREAM}
"""The parts of other forms in which a format is read."""


def json_schema(file_format: FileFormat) -> Schema:
    """The JSON Schema of a format: fields, their meanings, types and sets of values.

    It accepts every file that nestmap reads; ranges, and what depends on other fields, are left to
    the parser.
    """
    schema: Schema = _Parts(PARTS[file_format]).schema(())
    if file_format in _OTHER_FORMS:
        schema = {"anyOf": [schema, _Parts(_OTHER_FORMS[file_format]).schema(())]}
    if file_format is FileFormat.CORES:
        schema = _with_cores(schema)
    return {"$schema": DIALECT, "title": f"nestmap {file_format}", **schema}


def _with_cores(schema: Schema) -> Schema:
    """The schema with the definition of a core, which may stand in place of its file."""
    definition = _Parts(PARTS[FileFormat.CORE]).schema(())
    return {**schema, "definitions": {"core": {"anyOf": [{"type": "string"}, definition]}}}


@final
@dataclass(frozen=True)
class _Parts:
    """The parts of a format."""

    parts: Sequence[Part]

    def schema(self, at: tuple[str, ...]) -> Schema:
        """The schema of the value at a path."""
        sections = [x for x in self.parts if isinstance(x, Section) and x.at == at]
        if len(sections) == 1:
            return self._object(sections[0])
        if sections:
            return {"anyOf": [self._object(section) for section in sections]}
        if self._has(*at, ITEM):
            return {"type": "array", "items": self.schema((*at, ITEM))}
        if self._has(*at, KEY):
            return {"type": "object", "additionalProperties": self.schema((*at, KEY))}
        return {}

    def _has(self, *at: str) -> bool:
        return any(part.at[: len(at)] == at for part in self.parts)

    def _object(self, section: Section) -> Schema:
        fields = [x for x in section.fields if x.need is not Need.REFUSED]
        return {
            "type": "object",
            "description": section.meaning,
            "properties": {x.name: self._property(section, x) for x in fields},
            "required": [x.name for x in fields if x.need is Need.REQUIRED],
            "additionalProperties": False,
        }

    def _property(self, section: Section, field: Field) -> Json:
        at = (*section.at, field.name)
        nested = self.schema(at) or self._entries(at) or _value(field)
        if at in _CORES:
            nested |= _CORES[at]
        described: Schema = {"description": _description(field)}
        if field.default:
            described["default"] = yaml.safe_load(field.default)
        if field.need is Need.IGNORED:
            return {**described, "deprecated": True}
        if field.need is Need.REQUIRED:
            return {**nested, **described}
        return {**described, "anyOf": [nested, {"type": "null"}]}

    def _entries(self, at: tuple[str, ...]) -> Schema:
        found = [x for x in self.parts if isinstance(x, Entries) and x.at == at]
        if not found:
            return {}
        lines = [f"{form.written}: {form.meaning}" for form in found[0].forms]
        return {"type": ["array", "object"], "description": "\n".join([found[0].meaning, *lines])}


def _description(field: Field) -> str:
    """What an editor shows of a field."""
    example = f" Example: {field.example}" if field.example else ""
    meaning = _LINK.sub(r"\1", field.meaning)
    text = f"{meaning}." if field.kind == _ANYTHING else f"{meaning}: {field.kind}."
    left_out = f" Left out: {field.otherwise}." if field.otherwise else ""
    return f"{text[:1].upper()}{text[1:]}{left_out}{example}"


def _value(field: Field) -> Schema:
    """The type of a value without parts: from its example, unless it may have another type."""
    if field.kind == "true or false":
        return {"type": "boolean"}
    if field.kind.startswith(_ONE_OF) and not field.kind.startswith(f"{_ONE_OF}its"):
        return {"enum": [*field.kind.removeprefix(_ONE_OF).split(", ")]}
    if field.kind == _ANYTHING or ", or " in field.kind or not field.example:
        return {}
    example: object = yaml.safe_load(field.example)
    return {"type": _TYPES[type(example)]}
