"""JSON Schemas: they accept what nestmap reads, and refuse fields that are not known."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, cast

import jsonschema
import pytest
import yaml

from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    mapping_names,
    multicore_names,
    resolve_accelerator,
    resolve_mapping,
    resolve_multicore,
)
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.yaml.field_schema import Need
from nestmap.pipeline.frontend.yaml.file_model import models_of, section_of
from nestmap.pipeline.frontend.yaml.json_schema import ROOTS, FileFormat, json_schema
from nestmap.pipeline.util.atomic_files import Json
from tests.docs_pages import input_formats
from tests.pipeline.cli.inputs import run
from tests.pipeline.frontend.yaml.zigzag_files import zigzag_inputs

_EXAMPLES: Final = Path(input_formats.__file__).parent / "formats"
_OF_EXAMPLE: Final = {
    "multicore": FileFormat.CORES,
    "multicore_2024": FileFormat.CORES,
    "mapping_stream": FileFormat.MAPPING,
    "storage_core": FileFormat.CORE,
    "imc_accelerator": FileFormat.ACCELERATOR,
}


def files() -> Iterator[tuple[FileFormat, Path]]:
    """Files that nestmap reads."""
    yield from ((FileFormat.ACCELERATOR, resolve_accelerator(x)) for x in accelerator_names())
    yield from ((FileFormat.CORES, resolve_multicore(x)) for x in multicore_names())
    yield from ((FileFormat.CORE, path) for path in bundled_cores().values())
    yield from ((FileFormat.MAPPING, resolve_mapping(x)) for x in mapping_names())
    yield from ((FileFormat.ACCELERATOR, path) for path in zigzag_inputs("hardware"))
    yield from ((FileFormat.MAPPING, path) for path in zigzag_inputs("mapping"))
    yield FileFormat.WORKLOAD, Path(__file__).parents[3] / "golden" / "workloads" / "resnet18.yaml"
    for path in sorted(_EXAMPLES.glob("*.yaml")):
        yield _OF_EXAMPLE.get(path.stem) or FileFormat(path.stem), path


def content(path: Path) -> Json:
    """The values of a YAML file as JSON, as editors see them."""
    return cast(Json, json.loads(json.dumps(yaml.safe_load(path.read_text()))))


def problems(file_format: FileFormat, value: Json) -> list[str]:
    """What a schema finds wrong with a value."""
    validator = jsonschema.Draft7Validator(json_schema(file_format))
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize(
    ("file_format", "path"), [*files()], ids=lambda x: x.name if isinstance(x, Path) else str(x)
)
def test_files_that_are_read_are_valid(file_format: FileFormat, path: Path) -> None:
    assert problems(file_format, content(path)) == []


@pytest.mark.parametrize("file_format", FileFormat)
def test_schemas_are_schemas_with_every_field(file_format: FileFormat) -> None:
    schema = json_schema(file_format)
    jsonschema.Draft7Validator.check_schema(schema)
    text = json.dumps(schema, ensure_ascii=False)
    for model in (x for root in ROOTS[file_format] for x in models_of(root)):
        for field in section_of(model).fields:
            if field.need is not Need.REFUSED:
                assert f'"{field.name}": {{' in text
                meaning = re.sub(r"\[(.*?)\]\(#.*?\)", r"\1", field.meaning)[1:]
                assert json.dumps(meaning, ensure_ascii=False)[1:-1] in text


def _add(value: Json) -> None:
    cast("dict[str, Json]", value)["memorys"] = 1


def _leave_out(value: Json) -> None:
    del cast("dict[str, Json]", value)["memories"]


def _misspell(value: Json) -> None:
    memories = cast("dict[str, dict[str, Json]]", cast("dict[str, Json]", value)["memories"])
    memories["dram"]["mem_type"] = "drum"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_add, "'memorys' was unexpected"),
        (_leave_out, "'memories' is a required property"),
        (_misspell, "'drum'"),
    ],
)
def test_mistakes_are_found(change: Callable[[Json], None], message: str) -> None:
    value = content(resolve_accelerator("tpu_like"))
    change(value)
    assert message in "\n".join(problems(FileFormat.ACCELERATOR, value))


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    printed = run("schema", "mapping")
    file = tmp_path / "mapping.schema.json"
    written = run("schema", "mapping", "--output", str(file))
    assert (printed.code, written.code) == (0, 0), printed.err + written.err
    assert printed.out == file.read_text()
    assert json.loads(printed.out) == json_schema(FileFormat.MAPPING)
    assert run("schema", "maping").code == 2
