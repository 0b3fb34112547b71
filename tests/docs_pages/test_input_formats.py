"""What docs/input-formats.md says of every field is what the parsers do."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

import pytest

from nestmap import explore
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend import yaml as parsers
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Section
from nestmap.pipeline.frontend.yaml.file_model import FileModel, section_of
from tests.docs_pages.input_formats import FORMATS, ONNX_ATTRIBUTES, Format
from tests.docs_pages.input_formats_page import PAGE, input_formats_page
from tests.docs_pages.variants import (
    Case,
    Files,
    accepted,
    adding,
    everywhere,
    example,
    outcomes,
    refused,
    removing,
    replacing,
    setting,
    written,
)
from tests.pipeline.frontend.onnx.build import model, node, weights

PAGE_TEXT: Final = PAGE.read_text(encoding="utf-8")

FIELDS: Final = [
    (Case(format_, part, field), field)
    for format_ in FORMATS
    for part in format_.parts
    if isinstance(part, Section)
    for field in part.fields
]


def fields(*needs: Need) -> pytest.MarkDecorator:
    """The test runs once for each field of these needs."""
    chosen = [(case, field) for case, field in FIELDS if field.need in needs]
    return pytest.mark.parametrize(("case", "field"), chosen, ids=[str(case) for case, _ in chosen])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A place for files."""
    return Files(tmp_path)


def test_the_page_is_up_to_date() -> None:
    """Where this fails: ``python -m tests.docs_pages.input_formats_page``."""
    assert input_formats_page() == PAGE_TEXT


def test_the_examples_go_together() -> None:
    examples = {format_.title: format_.example for format_ in FORMATS}
    machine, mapping, workload = (examples[x] for x in ("Accelerator", "Mapping", "Workload"))
    network = read_workload(str(workload))
    constraints = read_mapping(str(mapping), for_accelerator=None)
    apart = copy_with(constraints, {"segments": ()})
    result = explore(network, machine, apart, search="loma", spatial_mappings=3, lpf_limit=3)
    assert result.layers[0].statistics.evaluations == 1  # its mapping is complete
    assert all(layer.statistics.evaluations > 1 for layer in result.layers[1:])


def subclasses(model: type[FileModel]) -> Iterator[type[FileModel]]:
    """All models of mappings in files."""
    for each in model.__subclasses__():
        yield each
        yield from subclasses(each)


def test_what_parsers_declare_is_on_the_page() -> None:
    modules = [
        import_module(f"{parsers.__name__}.{m.name}") for m in iter_modules(parsers.__path__)
    ]
    declared = [x for m in modules for x in vars(m).values() if isinstance(x, Section | Entries)]
    models = [x for x in subclasses(FileModel) if x.__module__.startswith(parsers.__name__)]
    declared += [section_of(x) for x in models if "title" in x.model_config]
    shown = [part for format_ in FORMATS for part in format_.parts]
    assert declared
    assert [part.title for part in declared if part not in shown] == []


def anchor(heading: str) -> str:
    """What links to a heading."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def test_links_lead_to_headings() -> None:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", PAGE_TEXT, flags=re.DOTALL), re.M)
    anchors = [anchor(heading) for heading in headings]
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE_TEXT)) <= set(anchors)
    for page in re.findall(r"\]\(([^)#]+)\)", PAGE_TEXT):
        assert (PAGE.parent / page).is_file()


def test_tables_are_whole() -> None:
    for table in re.findall(r"(?:^\|.*\|\n)+", PAGE_TEXT, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


@fields(Need.REQUIRED)
def test_required_fields_must_be_there(files: Files, case: Case, field: Field) -> None:
    results = outcomes(files, case, removing(field))
    assert results
    assert accepted(results) == []


@fields(Need.CONDITIONAL)
def test_some_fields_must_be_there_sometimes(files: Files, case: Case, field: Field) -> None:
    errors = refused(outcomes(files, case, removing(field)))
    assert errors
    assert all(error.found == f"no {field.name}" for error in errors)


@fields(Need.OPTIONAL)
def test_optional_fields_may_be_left_out(files: Files, case: Case, field: Field) -> None:
    assert accepted(outcomes(files, case, removing(field)))
    assert field.default or field.otherwise


@fields(Need.OPTIONAL)
def test_defaults_are_what_counts_without_the_field(files: Files, case: Case, field: Field) -> None:
    if not field.default:
        return
    left_out = outcomes(files, case, removing(field))
    stated = outcomes(files, case, setting(field, field.default))
    pairs = [pair for pair in zip(left_out, stated, strict=True) if accepted(pair[:1])]
    assert pairs
    assert [without == with_default for without, with_default in pairs] == [True] * len(pairs)


@fields(Need.IGNORED)
def test_ignored_fields_change_nothing(files: Files, case: Case, field: Field) -> None:
    left_out = outcomes(files, case, removing(field))
    assert left_out
    assert outcomes(files, case, setting(field, field.example)) == left_out


@fields(Need.REFUSED)
def test_refused_fields_are_errors(files: Files, case: Case, field: Field) -> None:
    results = outcomes(files, case, setting(field, field.example))
    assert results
    assert accepted(results) == []
    assert all(error.where.endswith(f".{field.name}") for error in refused(results))


@fields(Need.REQUIRED, Need.CONDITIONAL, Need.OPTIONAL)
def test_examples_are_read(files: Files, case: Case, field: Field) -> None:
    if field.example:
        assert accepted(outcomes(files, case, setting(field, field.example)))
    else:
        parts = [part for format_ in FORMATS for part in format_.parts]
        linked = [part for part in parts if f"](#{anchor(part.title)})" in field.meaning]
        assert any(field.name in part.at for part in linked)


@fields(Need.REQUIRED, Need.CONDITIONAL, Need.OPTIONAL)
def test_values_are_what_errors_expect(files: Files, case: Case, field: Field) -> None:
    """Of an empty mapping, or an empty list, in its place."""
    errors = [
        error
        for wrong in ("{}", "[]")
        for error in refused(outcomes(files, case, setting(field, wrong)))
        if error.where.endswith(field.name)
    ]
    expected = [error.expected for error in errors]
    assert any(x.startswith(field.kind) or field.kind.startswith(x) for x in expected), expected


FORMS: Final = [
    Case(format_, part, form)
    for format_ in FORMATS
    for part in format_.parts
    if isinstance(part, Entries)
    for form in part.forms
]


@pytest.mark.parametrize("case", FORMS, ids=str)
def test_forms_are_read(files: Files, case: Case) -> None:
    assert isinstance(case.of, Form)
    added = outcomes(files, case, adding(case.of))
    assert accepted([*added, *outcomes(files, case, replacing(case.of))])


def precisions(attributes: dict[str, int]) -> tuple[int, ...]:
    """Bits of weights, activations, results and partial sums of a node with these attributes."""
    made = node("MatMul", "x w", "y", attributes)
    layer = parse_onnx(model([made], {"x": (2, 8)}, [weights("w", 8, 4)])).layers[0]
    bits = (*(operand.precision for operand in layer.inputs), layer.output.precision)
    return (*bits, layer.output.partial_precision)


ATTRIBUTES: Final = {
    "weight_size": (8, 4, 8, 16),
    "act_size": (4, 8, 4, 8),
    "output_size": (8, 8, 8, 24),
}


def test_attributes_of_nodes_are_bits() -> None:
    assert precisions({}) == (8, 8, 8, 16)
    assert {
        field.name: precisions({field.name: int(field.example)}) for field in ONNX_ATTRIBUTES.fields
    } == ATTRIBUTES


STRANGE: Final = (
    *("{0: 1}", "{1: {0: 2}, x: 3}", "[[[]]]", "2020-01-01", "[~]", "~", ".nan", "!foo bar"),
)
"""Values that stand where no format expects them."""


@pytest.mark.parametrize("format_", FORMATS, ids=lambda x: x.title)
def test_strange_values_are_read_or_refused_wherever_they_stand(
    files: Files, format_: Format
) -> None:
    tree = example(format_)
    read = [
        files.read(format_, written(tree, place, text))
        for place in everywhere(tree)
        for text in STRANGE
    ]
    assert refused(read)
