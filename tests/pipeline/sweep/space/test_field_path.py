"""Paths lead to the fields of a description; others name the nearest one."""

from typing import Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nestmap.pipeline.sweep.space.field_path import (
    PathError,
    Steps,
    Tree,
    copied,
    find_field,
    put_value,
    value_at,
)
from tests.pipeline.cli.inputs import MACHINE

BASE: Final = copied(yaml.safe_load(MACHINE))


def leaves(tree: Tree, path: str = "") -> list[tuple[str, Tree]]:
    """The path of every value that is no collection."""
    if isinstance(tree, dict):
        pairs = [(f"{path}.{name}" if path else name, x) for name, x in tree.items()]
    elif isinstance(tree, list):
        pairs = [(f"{path}[{n}]", x) for n, x in enumerate(tree)]
    else:
        return [(path, tree)]
    return [leaf for name, value in pairs for leaf in leaves(value, name)]


@given(st.sampled_from(leaves(BASE)), st.integers())
def test_every_value_is_found_and_replaced(leaf: tuple[str, Tree], value: int) -> None:
    path, old = leaf
    steps = find_field(BASE, path)
    assert value_at(BASE, steps) == old
    tree = copied(BASE)
    put_value(tree, steps, value)
    assert dict(leaves(tree)) == {**dict(leaves(BASE)), path: value}
    assert dict(leaves(BASE))[path] == old


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("technology", ("technology",)),
        ("memories.reg.cost", ("memories", "reg", "cost")),
        ("memories.reg.ports[1].bandwidth_max", ("memories", "reg", "ports", 1, "bandwidth_max")),
        ("operational_array.clock_period", ("operational_array", "clock_period")),
    ],
)
def test_fields_that_the_base_leaves_out_may_be_set(path: str, steps: Steps) -> None:
    assert find_field(BASE, path) == steps


def test_names_may_have_dots() -> None:
    tree: dict[str, Tree] = {"memories": {"a": {"size": 1}, "a.b": {"size": 2}}}
    assert find_field(tree, "memories.a.b.size") == ("memories", "a.b", "size")
    assert find_field(tree, "memories.a.size") == ("memories", "a", "size")


@pytest.mark.parametrize(
    ("path", "found", "expected"),
    [
        ("memories.rag.size", "the unknown field 'rag'", "reg (one of reg, outlet, buffer)"),
        ("memories.reg.sise", "the unknown field 'sise'", "size (one of operands, "),
        ("operational_array.sizes[1]", "[1] of a list of 1", "[0] to [0]"),
        ("operational_array.sizes.D1", "D1 of a list of 1", "[0] to [0]"),
        (
            "operational_array.sizes",
            "operational_array.sizes, which is a list",
            "a part of it: [0]",
        ),
        ("memories.reg", "memories.reg, which has fields", "a part of it: operands"),
        ("name.size", "name.size, which goes on after a value", "name"),
        ("vector_unit.lanes", "vector_unit.lanes, of which the base has no vector_unit", "a field"),
        ("memories.reg.size.", "'memories.reg.size.'", "a name after the last dot"),
        ("operational_array.sizes[0]x", "'operational_array.sizes[0]x'", "names with dots"),
        ("[0]", "the unknown field ''", "one of name"),
        ("dataflows", "the unknown field 'dataflows'", "one of name"),
    ],
)
def test_other_paths_are_errors(path: str, found: str, expected: str) -> None:
    with pytest.raises(PathError) as error:
        find_field(BASE, path)
    assert error.value.found == found
    assert error.value.expected.startswith(expected)


@given(st.text(alphabet="memories.rgsz[]0129 \n", max_size=30))
def test_no_path_crashes(path: str) -> None:
    try:
        steps = find_field(BASE, path)
    except PathError:
        return
    put_value(copied(BASE), steps, 1)
