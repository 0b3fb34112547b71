"""Fields that docs/input-formats.md marks as not ZigZag's are those that zigzag-dse refuses."""

from collections.abc import Mapping, Sequence
from typing import Final

import pytest
from zigzag.parser.accelerator_validator import AcceleratorValidator
from zigzag.parser.mapping_validator import MappingValidator
from zigzag.parser.workload_validator import WorkloadValidator

from nestmap.pipeline.frontend.yaml.field_schema import ITEM, KEY, Need, Origin, Section
from tests.docs_pages.input_formats import FORMATS

Rules = Mapping[str, "Rules"]

_ACCELERATOR: Final[Rules] = {"schema": vars(AcceleratorValidator)["SCHEMA"]}
_MAPPING: Final[Rules] = {"schema": {"schema": vars(MappingValidator)["SCHEMA_SINGLE"]}}
_WORKLOAD: Final[Rules] = {"schema": {"schema": vars(WorkloadValidator)["LAYER_SCHEMA"]}}

ROOTS: Final = {
    "Accelerator": _ACCELERATOR,
    "In-memory computing": _ACCELERATOR,
    "Mapping": _MAPPING,
    "Workload": _WORKLOAD,
}
"""What the reference says of whole files, by format."""


def known(rules: Rules, at: Sequence[str]) -> set[str]:
    """The fields that the reference knows at a path; none where it knows no such path."""
    for step in at:
        if step == KEY:
            rules = rules["valuesrules"]
        elif step == ITEM:
            rules = rules["schema"]
        else:
            rules = rules["schema"].get(step, {"schema": {}})
    return set(rules["schema"])


SECTIONS: Final = [
    (ROOTS[format_.title], part)
    for format_ in FORMATS
    if format_.origin is Origin.ZIGZAG
    for part in format_.parts
    if isinstance(part, Section)
]


@pytest.mark.parametrize(("rules", "section"), SECTIONS, ids=[part.title for _, part in SECTIONS])
def test_fields_are_whose_the_page_says(rules: Rules, section: Section) -> None:
    used = [f for f in section.fields if f.need not in (Need.IGNORED, Need.REFUSED)]
    of_zigzag = {field.name for field in used if field.origin is Origin.ZIGZAG}
    assert of_zigzag == {field.name for field in used} & known(rules, section.at)


def test_every_field_of_zigzag_is_known() -> None:
    for rules, section in SECTIONS:
        assert known(rules, section.at) <= {field.name for field in section.fields}
