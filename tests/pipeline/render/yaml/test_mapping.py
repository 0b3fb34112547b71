"""Mapping files: what was found is written whole, and readable."""

from pathlib import Path

import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import InputError, LayerResult, MappingConstraints, NetworkEvaluation
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.yaml.mapping import found_mapping, mapping_text, write_mapping
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered

SPATIAL = mapped(
    matmul(k=8, c=6),
    machine(
        memory("rf", size=64, operands="I2"),
        memory("dram", served="D1 D2"),
        sides={"D1": 2, "D2": 3},
    ),
    {"D1": "K 2", "D2": "C 3"},
)
MAPPING = ordered("C 2 K 4", {"O": (2,), "W": (1, 2), "I": (2,)})
EVALUATION = NetworkEvaluation(layers=(LayerResult(cme=evaluate(SPATIAL, MAPPING)),))

TEXT = """\
- name: layer
  spatial_mapping:
    D1: ['K, 2']
    D2: ['C, 3']
  memory_operand_links: {O: O, W: I2, I: I1}
  temporal_ordering:
  - [C, 2]
  - [K, 4]
  memory_levels:
    O: {dram: 2}
    W: {rf: 1, dram: 2}
    I: {dram: 2}
"""


def test_the_text_of_a_mapping() -> None:
    assert mapping_text(found_mapping(EVALUATION)) == TEXT


def test_a_file_says_what_it_is_and_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "found.yaml"
    write_mapping(file, EVALUATION)
    head, _, rest = file.read_text().partition("- name")
    assert all(line.startswith("# ") for line in head.splitlines())
    assert "--mapping-file" in head
    assert "- name" + rest == TEXT
    assert parse_mapping(file) == found_mapping(EVALUATION)


def test_nothing_is_an_empty_list() -> None:
    assert mapping_text(MappingConstraints()) == "[]\n"


def test_a_file_in_no_folder_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no/where"):
        write_mapping(tmp_path / "no" / "where.yaml", EVALUATION)
