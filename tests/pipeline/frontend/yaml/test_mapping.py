"""Mapping files: ZigZag's own load unchanged, and every field means what its users know."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Dataflow,
    InputError,
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.multicore.split_options import HintLoop
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from nestmap.pipeline.render.yaml.mapping import mapping_text
from tests.pipeline.frontend.yaml.zigzag_files import zigzag_inputs


@pytest.mark.parametrize("path", zigzag_inputs("mapping"), ids=lambda f: f.stem)
def test_zigzag_mappings_load_field_by_field(path: Path) -> None:
    assert yaml.safe_load(mapping_text(parse_mapping(path))) == yaml.safe_load(path.read_text())


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
  dataflow: output_stationary
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
        dataflow=Dataflow.OUTPUT_STATIONARY,
    )


@pytest.mark.parametrize("wildcard", ['"*"', '["*"]'])
def test_items_after_a_wildcard_are_outermost(tmp_path: Path, wildcard: str) -> None:
    text = f"- {{name: a, temporal_ordering: [[K, 2], {wildcard}, [c, '*'], [K, 3]]}}"
    (entry,) = parsed(tmp_path, text).entries
    assert entry.temporal_ordering == (OrderedLoop(dimension="K", size=2),)
    assert entry.outer_ordering == (OrderedLoop(dimension="C"), OrderedLoop(dimension="K", size=3))


def test_a_wildcard_alone_leaves_everything_open(tmp_path: Path) -> None:
    text = '- {name: a, temporal_ordering: ["*"]}'
    assert parsed(tmp_path, text).entries == (LayerConstraints(target="a"),)


def test_memory_levels_name_memories(tmp_path: Path) -> None:
    text = """
- name: a
  temporal_ordering: [[K, 2], [C, 3]]
  memory_levels: {W: {rf 1: 0, dram: 2}, O: {dram: 2}}
"""
    (entry,) = parsed(tmp_path, text).entries
    weights = (PinnedMemory(memory="rf 1", loops=0), PinnedMemory(memory="dram", loops=2))
    assert entry.memory_levels == (
        PinnedLevels(operand="W", memories=weights),
        PinnedLevels(operand="O", memories=weights[1:]),
    )


def test_a_name_alone_constrains_nothing(tmp_path: Path) -> None:
    text = "- name: default\n- {name: Conv, spatial_mapping: , memory_operand_links: }\n"
    assert parsed(tmp_path, text).entries == (LayerConstraints(), LayerConstraints(target="Conv"))


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


def pinned_levels(items: int) -> st.SearchStrategy[tuple[PinnedLevels, ...]]:
    """Levels of up to three operands in memories of any name."""
    memories = st.dictionaries(st.text(min_size=1), st.integers(0, items), max_size=3)
    return st.dictionaries(st.sampled_from("OWI"), memories).map(
        lambda chosen: tuple(
            PinnedLevels(
                operand=operand,
                memories=tuple(PinnedMemory(memory=m, loops=n) for m, n in held.items()),
            )
            for operand, held in chosen.items()
        )
    )


@st.composite
def entries(draw: st.DrawFn) -> LayerConstraints:
    """Entries with any of the fields."""
    hints = st.dictionaries(arrays, st.lists(dimensions, min_size=1, unique=True)).map(
        lambda chosen: tuple(
            UnrollingHint(array_dimension=name, dimensions=tuple(of)) for name, of in chosen.items()
        )
    )
    links = st.permutations(("I1", "I2", "O")).map(
        lambda order: tuple(
            OperandLink(operand=x, memory_operand=m) for x, m in zip("OWI", order, strict=True)
        )
    )
    ordered = st.builds(OrderedLoop, dimension=dimensions, size=st.none() | sizes)
    inner, outer = (tuple(draw(st.lists(ordered, max_size=4))) for _ in range(2))
    return LayerConstraints(
        target=draw(st.sampled_from(("default", "Conv", "layer 1", "/a/b", "on", "7", "a: b #"))),
        spatial_mapping=draw(st.none() | spatial_mappings()),
        spatial_hints=draw(hints),
        links=draw(st.just(()) | links),
        temporal_ordering=inner,
        outer_ordering=outer,
        memory_levels=draw(pinned_levels(len(inner) + len(outer))),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write to, again and again."""
    return tmp_path_factory.mktemp("mappings")


@settings(deadline=None)
@given(chosen=st.lists(entries(), unique_by=lambda entry: entry.target))
def test_what_is_written_is_read(folder: Path, chosen: list[LayerConstraints]) -> None:
    constraints = MappingConstraints(entries=tuple(chosen))
    assert parsed(folder, mapping_text(constraints)) == constraints


def test_a_star_is_the_number_of_allowed_cores(tmp_path: Path) -> None:
    path, tiling = tmp_path / "c.yaml", "  inter_core_tiling: ['K, *']\n"
    path.write_text(f"- name: default\n  core_allocation: [0, 1, 3]\n{tiling}")
    (entry,) = parse_core_mapping(path).entries
    assert entry.inter == (HintLoop(dimension="K", tiles=3),)
    path.write_text(f"- name: default\n{tiling}")
    with pytest.raises(InputError, match=r"c.yaml:2: .*'K, \*'; .*the cores of core_allocation"):
        _ = parse_core_mapping(path)
