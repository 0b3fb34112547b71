"""The formats of YAML files, and their JSON Schemas for editors, from their models."""

import re
from enum import StrEnum
from typing import Final, cast

import yaml
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from nestmap.pipeline.frontend.yaml.design_space import SpaceFields
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Field, Forms, Need
from nestmap.pipeline.frontend.yaml.file_model import FileModel, section_of
from nestmap.pipeline.frontend.yaml.hardware.accelerator import AcceleratorFields
from nestmap.pipeline.frontend.yaml.hardware.core import CoreFields, StorageCoreFields
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    Multicore2024Fields,
    MulticoreFields,
)
from nestmap.pipeline.frontend.yaml.layer_fields import LayerFields
from nestmap.pipeline.frontend.yaml.mapping_fields import MappingFields
from nestmap.pipeline.frontend.yaml.stream_mapping import StreamMappingFields
from nestmap.pipeline.util.atomic_files import Json


class FileFormat(StrEnum):
    """A kind of YAML file."""

    ACCELERATOR = "accelerator"
    """An accelerator with a single core."""
    CORES = "cores"
    """An accelerator with several cores."""
    CORE = "core"
    """A core of several."""
    MAPPING = "mapping"
    """Constraints on mappings, and core allocations."""
    WORKLOAD = "workload"
    """A network, layer by layer."""
    SPACE = "space"
    """A design space: accelerators that a sweep explores."""


ROOTS: Final[dict[FileFormat, tuple[type[FileModel], ...]]] = {
    FileFormat.ACCELERATOR: (AcceleratorFields,),
    FileFormat.CORES: (MulticoreFields, Multicore2024Fields),
    FileFormat.CORE: (CoreFields, StorageCoreFields),
    FileFormat.MAPPING: (MappingFields, StreamMappingFields),
    FileFormat.WORKLOAD: (LayerFields,),
    FileFormat.SPACE: (SpaceFields,),
}
"""The models of a file, or of the items of one, in each form in which a format is read."""

Schema = dict[str, Json]

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The dialect that most editors support."""

_LINK: Final = re.compile(r"\[([^]]*)\]\(#[^)]*\)")
"""A link to another part of the documentation."""

_NULL: Final[Schema] = {"type": "null"}


def json_schema(file_format: FileFormat) -> Schema:
    """The JSON Schema of a format: fields, their meanings, types, bounds and sets of values.

    It accepts every file that nestmap reads; what depends on other fields is left to the parser.
    """
    forms, definitions = list[Schema](), Schema()
    for root in ROOTS[file_format]:
        form = cast("Schema", root.model_json_schema(schema_generator=_Generator))
        definitions |= cast("Schema", form.pop("$defs", {}))
        forms.append({"type": "array", "items": form} if root.at == (ITEM,) else form)
    whole: Schema = {"anyOf": [*forms]} if len(forms) > 1 else forms[0]
    title = f"nestmap {file_format}"
    return {"$schema": DIALECT, **whole, "title": title, "$defs": definitions}


class _Generator(GenerateJsonSchema):
    """Adds what the page of formats says of fields."""

    def model_schema(self, schema: ModelSchema) -> dict[str, object]:
        made = cast("Schema", super().model_schema(schema))
        model = cast("type[FileModel]", schema["cls"])
        properties = cast("Schema", made["properties"])
        section = section_of(model)
        for field in section.fields:
            described = _described(model, field, cast("Schema", properties.pop(field.name)))
            if field.need is not Need.REFUSED:
                properties[field.name] = described
        return {**made, "title": section.title, "description": section.meaning}


def _described(model: type[FileModel], field: Field, value: Schema) -> Schema:
    """The schema of a field, whose value may be left out unless it is required."""
    value = {name: part for name, part in value.items() if name not in ("default", "title")}
    forms = [x for x in model.model_fields[field.name].metadata if isinstance(x, Forms)]
    said = [_description(field), *(line for each in forms for line in _lines(each))]
    described: Schema = {"description": "\n".join(said)}
    if field.default:
        described["default"] = yaml.safe_load(field.default)
    if field.need is Need.IGNORED:
        return {**described, "deprecated": True}
    if field.need is Need.REQUIRED:
        return {**value, **described}
    options = cast("list[Json]", value["anyOf"]) if [*value] == ["anyOf"] else [value]
    return {**described, "anyOf": [*(x for x in options if x != _NULL), _NULL]}


def _lines(forms: Forms) -> list[str]:
    return [forms.meaning, *(f"{form.written}: {form.meaning}" for form in forms.forms)]


def _description(field: Field) -> str:
    """What an editor shows of a field."""
    example = f" Example: {field.example}" if field.example else ""
    meaning = _LINK.sub(r"\1", field.meaning)
    text = f"{meaning}." if field.kind == "anything" else f"{meaning}: {field.kind}."
    left_out = f" Left out: {field.otherwise}." if field.otherwise else ""
    return f"{text[:1].upper()}{text[1:]}{left_out}{example}"
