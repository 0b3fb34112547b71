"""Segments that a mapping file fixes: read back as they were saved, or told to be impossible."""

from pathlib import Path
from typing import Unpack

import pytest

from nestmap.model import InfeasibleError, InputError, NetworkEvaluation, NetworkProblem, Objective
from nestmap.pipeline.explore.api import explore, explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.yaml.mapping import found_mapping, write_mapping
from tests.pipeline.explore.fused import (
    CASES,
    NETWORKS,
    chain,
    ends_of,
    found,
    segments_of,
    with_buffer,
)
from tests.sweeps import every


def fused_as(path: Path, text: str, **options: Unpack[SearchOptions]) -> NetworkEvaluation:
    """The chain under the mapping file with that text."""
    path.write_text(text)
    given = SearchOptions(objective="energy", fuse=True, count_vector=True) | options
    return explore(chain(), with_buffer(4096), path, **given).total


@pytest.mark.parametrize(("name", "bits", "objective"), every(3, CASES))
def test_what_was_saved_is_read_back(
    tmp_path: Path, name: str, bits: int, objective: Objective
) -> None:
    """The same segments, tiles and memories, at the same cost; layers by themselves stay so."""
    workload, accelerator, file = NETWORKS[name](), with_buffer(bits), tmp_path / "found.yaml"
    first = found(workload, accelerator, objective, fuse=True)
    write_mapping(file, first)
    constraints = parse_mapping(file)
    assert constraints == found_mapping(first)
    plan = SearchPlan(objective=objective, count_vector=True, fuse=True)
    problem = NetworkProblem(workload=workload, accelerator=accelerator, constraints=constraints)
    again = explore_network(problem, plan).total
    assert first.on_chip is not None
    assert again.on_chip is not None
    assert again.on_chip.segments == first.on_chip.segments
    assert objective.of(again) == pytest.approx(objective.of(first))


def test_what_is_fixed_of_a_segment_holds(tmp_path: Path) -> None:
    """Sizes that divide nothing, halos computed again, weights that each tile fetches."""
    fixed = "{first: conv0, tiles: {OY: 4, OX: 5}, recomputed: [OX], weights: fetched}"
    total = fused_as(tmp_path / "a.yaml", f"- {{name: conv1, fused: {fixed}}}\n")
    assert ends_of(total)["conv1/relu", "conv2"] == "the mapping fixes where they end"
    first = segments_of(total)[0]
    assert first.nodes == ("conv0", "conv0/relu", "conv1", "conv1/relu")
    assert [(x.dimension, x.size, x.retained) for x in first.axes] == [
        ("OY", 4, True),
        ("OX", 5, False),
    ]
    assert first.residence is None
    free = found(chain(), with_buffer(4096), Objective.ENERGY, fuse=True)
    assert free.energy < total.energy
    (together,) = segments_of(
        fused_as(tmp_path / "b.yaml", "- {name: conv2, fused: {first: conv0}}")
    )
    assert together.nodes[0] == "conv0"
    alone = "".join(f"- {{name: conv{n}, fused: {{}}}}\n" for n in range(3))
    by_itself = fused_as(tmp_path / "c.yaml", alone)
    assert by_itself.on_chip is not None
    assert by_itself.on_chip.segments == ()
    whole = found(chain(), with_buffer(4096), Objective.ENERGY, fuse=False)
    assert by_itself.energy == pytest.approx(whole.energy)


def test_tiles_of_given_sizes(tmp_path: Path) -> None:
    """All segments have them, apart from those that a mapping fixes."""
    total = fused_as(tmp_path / "a.yaml", "[]", tiles="OY 2 x OX 3")
    for segment in segments_of(total):
        length = 6 if segment.nodes[-1] in ("conv1/relu", "conv2/relu") else 12
        assert [x.size for x in segment.axes] == [2, 3]
        assert segment.tiles == length * length / 6
    fixed = "- {name: conv2, fused: {first: conv1, tiles: {OY: 3}}}\n"
    last = segments_of(fused_as(tmp_path / "b.yaml", fixed, tiles="OY 2"))[-1]
    assert [x.size for x in last.axes] == [3, 6]
    whole = fused_as(tmp_path / "a.yaml", "[]", tiles="OY 12")
    assert set(ends_of(whole).values()) == {"tiles of the given sizes do not cut what they compute"}
    for text in ("OY", "OY 0", "OY 2, OX 3", "OY 2 x OY 3"):
        with pytest.raises(InputError, match="expected sizes along different dimensions"):
            SearchPlan(fuse=True).with_options({"tiles": text})
    with pytest.raises(InputError, match="tiles without fuse"):
        SearchPlan().with_options({"tiles": "OY 2"})


WRONG = {
    "- {name: Conv, fused: {first: conv0}}": "a segment that ends with Conv; expected one layer",
    "- {name: conv1, fused: {first: conv9}}": "the first layer 'conv9'; expected conv1 (",
    "- {name: conv0, fused: {first: conv1}}": "the first layer 'conv1'; expected conv0",
    "- {name: conv1, fused: {first: conv0}}\n- {name: conv2, fused: {first: conv1}}": (
        "a second segment of conv1; expected segments without layers in common"
    ),
    "- {name: conv1, fused: {first: conv0, home: bufer}}": "home bufer; expected buffer",
    "- {name: conv1, fused: {first: conv0, weights: top}}": "weights top; expected one of buffer",
    "- {name: conv1, fused: {first: conv0, tiles: {K: 2}}}": "tiles along K; expected one of OY",
    "- {name: conv1, fused: {first: conv0, recomputed: [C]}}": "tiles along C; expected one of OY",
    "- {name: conv1, fused: {first: conv0, tiles: {OY: 6}}}": (
        "one tile, of all; expected tiles that are smaller than OY 6, OX 6"
    ),
    "- {name: conv1, fused: {home: buffer}}": "no first; expected first, or no other field",
    "- {name: conv1, fused: {first: conv0, tiles: {}}}": "no field; expected sizes by loop",
    "- {name: conv1, fused: {first: conv0, tiles: {OY: 0}}}": "0; expected a size, at least 1",
    "- {name: conv1, fused: {first: conv0, inputs: kept}}": "'kept'; expected one of copied, out",
    "- {name: conv1, fused: {start: conv0}}": "the unknown field 'start'; expected one of first",
    "- {name: conv1, fused: [conv0]}": "a list; expected the fields first",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_run_so_is_told_with_its_place(tmp_path: Path, text: str) -> None:
    """File, line and field, what was found there, and what would be right."""
    file = tmp_path / "fixed.yaml"
    with pytest.raises(InputError) as error:
        fused_as(file, text)
    line = text.count("\n") + 1
    assert str(error.value).startswith(f"{file}:{line}: [{line - 1}].fused")
    assert WRONG[text] in str(error.value)


def test_segments_need_fuse_and_room(tmp_path: Path) -> None:
    """Without --fuse nothing runs together; tiles that no memory can hold are told."""
    file = tmp_path / "fixed.yaml"
    text = "- {name: conv2, fused: {first: conv0, tiles: {OY: 3}}}"
    told = r"fixed.yaml:1: \[0\].fused: found a segment of a fused network; expected"
    with pytest.raises(InputError, match=f"{told} --fuse, or no segment"):
        fused_as(file, text, fuse=False)
    with pytest.raises(InputError, match=f"{told} a mapping of each layer; explore --fuse"):
        replay(chain(), with_buffer(4096), file)
    file.write_text(text)
    options = SearchOptions(objective="energy", fuse=True)
    with pytest.raises(InfeasibleError, match="memories or tiles fixed by the mapping without"):
        explore(chain(), with_buffer(512), file, **options)
