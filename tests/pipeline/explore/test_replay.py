"""Replay: mappings cost what they cost when they were found."""

import pytest

from nestmap.model import (
    InfeasibleError,
    InputError,
    LayerConstraints,
    MappingConstraints,
    OperandLink,
    OrderedLoop,
    SpatialMapping,
    Unrolling,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.render.yaml.mapping import found_mapping
from nestmap.pipeline.stages.mapping.ordering import TemporalOrderingConversionStage
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.search.temporal.orderings import items, with_ordering

MACHINE = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=512, served="D1", width=64),
    memory("top", served="D1"),
    sides={"D1": 4},
)
FIRST = copy_with(matmul(k=8, c=12, b=2), {"name": "first"})
SECOND = copy_with(matmul(k=6, c=10), {"name": "second"})
NETWORK = Workload.of(FIRST, SECOND, name="net")
UNROLLED = SpatialMapping(unrollings=(Unrolling(array_dimension="D1", loops=loops("K 4")),))
FOUND = explore(
    NETWORK,
    MACHINE,
    MappingConstraints(entries=(LayerConstraints(spatial_mapping=UNROLLED),)),
    search="loma",
    spatial_mappings=3,
)
MAPPING = found_mapping(FOUND.total)


def with_first(updates: dict[str, object]) -> MappingConstraints:
    """The mappings found, the first one changed."""
    first, second = MAPPING.entries
    return MappingConstraints(entries=(copy_with(first, updates), second))


def test_all_layers_cost_the_same_again() -> None:
    replayed = replay(NETWORK, MACHINE, MAPPING)
    assert [x.cme for x in replayed.layers] == [x.cme for x in FOUND.layers]
    assert replayed.evaluations == 2


def test_one_layer_costs_the_same_again() -> None:
    (result,) = replay(NETWORK, MACHINE, MAPPING, layer="second").layers
    assert result.cme == FOUND.layers[1].cme


def test_links_are_part_of_a_mapping() -> None:
    links = (
        OperandLink(operand="W", memory_operand="I1"),
        OperandLink(operand="I", memory_operand="I2"),
    )
    entry = LayerConstraints(links=links)
    found = explore(
        NETWORK, MACHINE, MappingConstraints(entries=(entry,)), search="loma", spatial_mappings=3
    )
    replayed = replay(NETWORK, MACHINE, found_mapping(found.total))
    assert [x.cme for x in replayed.layers] == [x.cme for x in found.layers]
    assert replayed.layers[0].cme.level("I", 0).memory == "register"


def test_without_levels_loma_places_the_loops() -> None:
    replayed = replay(NETWORK, MACHINE, with_first({"memory_levels": ()}))
    assert replayed.layers[0].cme == FOUND.layers[0].cme


@pytest.mark.parametrize(
    ("updates", "found", "expected"),
    [
        (
            {"temporal_ordering": (), "memory_levels": ()},
            "no temporal_ordering (in the entry 'first')",
            "loops with sizes that cover the remaining iterations: ",
        ),
        (
            {"temporal_ordering": items("B 2"), "memory_levels": ()},
            "a temporal_ordering that leaves loops open",
            "loops with sizes that cover the remaining iterations: ",
        ),
        ({"temporal_ordering": items("Q 2"), "memory_levels": ()}, "item 1, [Q, 2]", "B, K, C"),
    ],
)
def test_mappings_that_leave_something_open_are_wrong_input(
    updates: dict[str, object], found: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        replay(NETWORK, MACHINE, with_first(updates))
    assert "for layer first" in caught.value.where
    assert caught.value.found == found
    assert expected in caught.value.expected


def test_a_layer_without_an_entry_is_wrong_input() -> None:
    only = MappingConstraints(entries=MAPPING.entries[:1])
    with pytest.raises(InputError) as caught:
        replay(NETWORK, MACHINE, only)
    assert caught.value.where == "mapping for layer second"
    assert caught.value.found.startswith("no temporal_ordering")


def test_an_unknown_layer_is_wrong_input() -> None:
    with pytest.raises(InputError, match="'third'; expected one of first, second"):
        replay(NETWORK, MACHINE, MAPPING, layer="third")


def test_a_mapping_for_a_larger_machine_does_not_fit() -> None:
    register, buffer, top = MACHINE.memories
    smaller = copy_with(buffer, {"instance": copy_with(buffer.instance, {"size": 20})})
    small = copy_with(MACHINE, {"memories": (register, smaller, top)})
    with pytest.raises(InfeasibleError, match=r"layer first: .*buffer too small for"):
        replay(NETWORK, small, MAPPING)


def test_a_machine_without_one_of_the_memories_is_wrong_input() -> None:
    lacking = copy_with(MACHINE, {"memories": MACHINE.memories[1:]})
    with pytest.raises(InputError) as caught:
        replay(NETWORK, lacking, MAPPING)
    assert caught.value.where == "memory_levels for layer first"
    assert caught.value.found == "register for W"


SPATIAL = mapped(matmul(k=8, c=6), MACHINE, {"D1": "K 4"})


def test_the_stage_makes_an_ordering_explicit() -> None:
    given = with_ordering(SPATIAL, "B * K 2 | B 7 C 2")
    explicit = TemporalOrderingConversionStage()(given).problem.constraints
    assert explicit.temporal_ordering == (OrderedLoop(dimension="K", size=2),)
    assert explicit.outer_ordering == (OrderedLoop(dimension="C", size=2),)


def test_the_stage_passes_on_what_is_explicit() -> None:
    for ordering in ("", "K 2 | C *", "K 2 C 6"):
        spatial = with_ordering(SPATIAL, ordering)
        assert TemporalOrderingConversionStage()(spatial) is spatial


@pytest.mark.parametrize(
    ("ordering", "found"), [("Q 2", "item 1, [Q, 2]"), ("K 2 | K 2", "item 3, [K, 2]")]
)
def test_the_stage_refuses_what_cannot_hold(ordering: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        TemporalOrderingConversionStage()(with_ordering(SPATIAL, ordering))
    assert caught.value.found == found


def test_the_stage_refuses_levels_that_do_not_suit() -> None:
    with pytest.raises(InputError, match="memory_levels for layer layer: found levels of X"):
        TemporalOrderingConversionStage()(with_ordering(SPATIAL, "K 2 C 6", {"X": {"top": 2}}))


def test_the_order_found_is_the_order_replayed() -> None:
    fixed = with_first({"temporal_ordering": items("B 2 C 12 K 2"), "memory_levels": ()})
    (result,) = replay(NETWORK, MACHINE, fixed, layer="first").layers
    assert result.cme.temporal_mapping.order == loops("B 2 C 12 K 2")
