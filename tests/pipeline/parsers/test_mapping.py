"""Mapping files: ZigZag's own load unchanged, and every field means what its users know."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    OrderedLoop,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.pipeline.parsers.mapping import parse_mapping
from tests.pipeline.parsers.zigzag_files import zigzag_inputs


class EntryText(TypedDict, total=False):
    """An entry as the schema has it."""

    name: str
    spatial_mapping: dict[str, list[str]] | None
    spatial_mapping_hint: dict[str, list[str]]
    memory_operand_links: dict[str, str]
    temporal_ordering: list[list[str | int]]


def written(constraints: MappingConstraints) -> list[EntryText]:
    """The constraints in the schema of the files; what is not given is left out."""
    return [_entry_text(entry) for entry in constraints.entries]


def _entry_text(entry: LayerConstraints) -> EntryText:
    text: EntryText = {"name": entry.target}
    if entry.spatial_mapping is not None:
        text["spatial_mapping"] = {
            unrolling.array_dimension: [
                f"{loop.dimension}, {loop.size}" for loop in unrolling.loops
            ]
            for unrolling in entry.spatial_mapping.unrollings
        }
    if entry.spatial_hints:
        text["spatial_mapping_hint"] = {
            hint.array_dimension: list(hint.dimensions) for hint in entry.spatial_hints
        }
    if entry.links:
        text["memory_operand_links"] = {x.operand: x.memory_operand for x in entry.links}
    if entry.temporal_ordering:
        text["temporal_ordering"] = [
            [loop.dimension, "*" if loop.size is None else loop.size]
            for loop in entry.temporal_ordering
        ]
    return text


@pytest.mark.parametrize("path", zigzag_inputs("mapping"), ids=lambda f: f.stem)
def test_zigzag_mappings_load_field_by_field(path: Path) -> None:
    assert written(parse_mapping(path)) == yaml.safe_load(path.read_text())


def parsed(folder: Path, text: str) -> MappingConstraints:
    """The constraints of a text."""
    file = folder / "m.yaml"
    file.write_text(text)
    return parse_mapping(file)


def test_every_field(tmp_path: Path) -> None:
    text = """
- memory_operand_links: {O: O, W: I2, I: I1}
  temporal_ordering: [[OX, 112], [FX, "*"], [OX, 2]]
  spatial_mapping: {D1: ["K, 32", "OX,2"], D2: []}
  spatial_mapping_hint: {D3: [K, OX]}
  core_allocation: [0, 1]
  name: conv1
"""
    (entry,) = parsed(tmp_path, text).entries
    k, ox = Loop(dimension="K", size=32), Loop(dimension="OX", size=2)
    assert entry == LayerConstraints(
        target="conv1",
        spatial_mapping=SpatialMapping(
            unrollings=(
                Unrolling(array_dimension="D1", loops=(k, ox)),
                Unrolling(array_dimension="D2"),
            )
        ),
        spatial_hints=(UnrollingHint(array_dimension="D3", dimensions=("K", "OX")),),
        links=(
            OperandLink(operand="O", memory_operand="O"),
            OperandLink(operand="W", memory_operand="I2"),
            OperandLink(operand="I", memory_operand="I1"),
        ),
        temporal_ordering=(
            OrderedLoop(dimension="OX", size=112),
            OrderedLoop(dimension="FX"),
            OrderedLoop(dimension="OX", size=2),
        ),
    )


def test_a_name_alone_constrains_nothing(tmp_path: Path) -> None:
    text = "- name: default\n- {name: Conv, spatial_mapping: , memory_operand_links: }\n"
    assert parsed(tmp_path, text).entries == (
        LayerConstraints(),
        LayerConstraints(target="Conv"),
    )


def test_dimensions_may_be_written_small(tmp_path: Path) -> None:
    small = '- {name: a, spatial_mapping: {D1: ["ox, 2"]}, temporal_ordering: [[ox, "*"]]}'
    large = '- {name: a, spatial_mapping: {D1: ["OX, 2"]}, temporal_ordering: [[OX, "*"]]}'
    assert parsed(tmp_path, small) == parsed(tmp_path, large)


def test_an_empty_list_constrains_nothing(tmp_path: Path) -> None:
    assert parsed(tmp_path, "[]") == MappingConstraints()


dimensions = st.sampled_from(("K", "C", "OX", "OY", "D0", "FX_2"))
arrays = st.sampled_from(("D1", "D2", "D3"))
sizes = st.integers(1, 2**31 - 1)


def spatial_mappings() -> st.SearchStrategy[SpatialMapping]:
    """Spatial mappings over up to three array dimensions."""
    loops = st.dictionaries(dimensions, sizes, max_size=3)
    return st.dictionaries(arrays, loops).map(
        lambda chosen: SpatialMapping(
            unrollings=tuple(
                Unrolling(
                    array_dimension=name,
                    loops=tuple(Loop(dimension=d, size=n) for d, n in loops.items()),
                )
                for name, loops in chosen.items()
            )
        )
    )


def entries() -> st.SearchStrategy[LayerConstraints]:
    """Entries with any of the fields."""
    hints = st.dictionaries(arrays, st.lists(dimensions, unique=True)).map(
        lambda chosen: tuple(
            UnrollingHint(array_dimension=name, dimensions=tuple(of)) for name, of in chosen.items()
        )
    )
    links = st.permutations(("I1", "I2", "O")).map(
        lambda order: tuple(
            OperandLink(operand=x, memory_operand=m) for x, m in zip("OWI", order, strict=True)
        )
    )
    ordered = st.builds(OrderedLoop, dimension=dimensions, size=sizes)
    whole = st.builds(OrderedLoop, dimension=st.sampled_from(("FY", "FZ")), size=st.none())
    orderings = st.lists(ordered | whole, unique=True).map(tuple)
    return st.builds(
        LayerConstraints,
        target=st.sampled_from(("default", "Conv", "layer 1", "/a/b")),
        spatial_mapping=st.none() | spatial_mappings(),
        spatial_hints=hints,
        links=st.just(()) | links,
        temporal_ordering=orderings,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write to, again and again."""
    return tmp_path_factory.mktemp("mappings")


@settings(deadline=None)
@given(chosen=st.lists(entries(), unique_by=lambda entry: entry.target))
def test_what_is_written_is_read(folder: Path, chosen: list[LayerConstraints]) -> None:
    constraints = MappingConstraints(entries=tuple(chosen))
    text = yaml.safe_dump(written(constraints), sort_keys=False)
    assert parsed(folder, text) == constraints
