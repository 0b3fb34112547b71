"""Descriptions of several cores as trees: cores by name, and what is left without some of them."""

from itertools import combinations
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.pipeline.frontend.bundled import multicore_names, resolve_multicore
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from nestmap.pipeline.frontend.yaml.hardware.core_files import multicore_values
from nestmap.pipeline.sweep.space.core_tree import (
    absent_core,
    cores_by_name,
    fields_meant,
    machine_values,
    without_absent_cores,
)
from nestmap.pipeline.sweep.space.field_path import PathError, Tree, copied

QUAD: Final = copied(multicore_values(resolve_multicore("quad_tpu")))


@pytest.mark.parametrize("name", multicore_names())
def test_values_with_core_files_in_place_are_the_same_accelerator(name: str) -> None:
    tree = copied(multicore_values(resolve_multicore(name)))
    assert read_multicore(machine_values(tree)) == read_multicore(name)


def test_a_name_means_all_cores_that_have_it() -> None:
    assert cores_by_name(QUAD)["tpu_like"] == ["0", "1", "2", "3"]
    assert fields_meant(QUAD, "cores.tpu_like.technology") == tuple(
        f"cores.{n}.technology" for n in range(4)
    )
    assert fields_meant(QUAD, "cores.2.technology") == ("cores.2.technology",)
    assert fields_meant(QUAD, "unit_energy_cost") == ("unit_energy_cost",)
    assert fields_meant({"memories": {}}, "cores.x") == ("cores.x",)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("cores.tpu_lick.name", "the unknown core 'tpu_lick'; expected tpu_like (one of"),
        ("cores.9", "the unknown core '9'"),
    ],
)
def test_other_names_are_errors(path: str, told: str) -> None:
    with pytest.raises(PathError) as error:
        fields_meant(QUAD, path)
    assert told in str(error.value)


def test_parts_that_may_be_absent_are_cores_and_their_memories() -> None:
    assert absent_core(QUAD, "cores.3") == ("cores", "3")
    memory = "cores.3.memories.sram_2MB"
    assert absent_core(QUAD, memory) == ("cores", "3", "memories", "sram_2MB")
    for path in ("cores.6", "name", "cores.3.technology", "cores.3.memories.no"):
        with pytest.raises(PathError):
            absent_core(QUAD, path)
    with pytest.raises(PathError, match="the format of 2024"):
        absent_core({**QUAD, "offchip_core": {}}, "cores.3")


@given(st.sets(st.sampled_from([str(n) for n in range(6)]), max_size=5))
def test_the_other_cores_keep_their_connections(absent: set[str]) -> None:
    whole = read_multicore("quad_tpu")
    cores = QUAD["cores"]
    assert isinstance(cores, dict)
    rest: dict[str, Tree] = {**QUAD, "cores": {x: y for x, y in cores.items() if x not in absent}}
    if absent >= {str(n) for n in range(6)}:
        return
    made = read_multicore(machine_values(without_absent_cores(rest, absent)))
    numbers = {int(x) for x in absent}
    assert made.cores == tuple(x for x in whole.cores if x.id not in numbers)
    assert made.links == tuple(x for x in whole.links if not {x.sender, x.receiver} & numbers)
    assert [set(x.cores) for x in made.buses] == [set(x.cores) - numbers for x in whole.buses]


def test_of_connections_and_shared_memories_only_common_ones_are_left() -> None:
    pairs: list[Tree] = [{"cores": [x, y]} for x, y in combinations(range(4), 2)]
    tree: dict[str, Tree] = {
        "cores": {"0": {}, "1": {}, "2": {}},
        "core_connectivity": [
            *pairs,
            {"type": "bus", "cores": [0, 1, 3], "hub": 3},
            {"type": "mesh", "cores": [0], "columns": 2},
            {"cores": "0, 1, 3"},
        ],
        "core_memory_sharing": ["0, 3", [1, 2, 3], [0]],
        "copies": {"0": 3, "3": 2},
    }
    left = without_absent_cores(tree, ["3"])
    assert left["core_connectivity"] == [
        *({"cores": [x, y]} for x, y in combinations(range(3), 2)),
        {"type": "mesh", "cores": [0], "columns": 2},
        {"cores": "0, 1"},
    ]
    assert left["core_memory_sharing"] == [[1, 2], [0]]
    assert left["copies"] == {"0": 3}
