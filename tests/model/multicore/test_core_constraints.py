"""Core allocations: which cores a node may run on, what fits, and how mappings split layers."""

import re
from typing import Final

import pytest
from pydantic import ValidationError

from nestmap.model import (
    CoreAllocation,
    CoreMapping,
    Counting,
    InputError,
    VectorNode,
    Workload,
    allowed_cores,
    check_allocations,
    split_from_hints,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.core_constraints import NodeKind
from nestmap.model.multicore.placed_tilings import resolve_names
from nestmap.model.multicore.split_options import HintLoop, SplitMode, SplitOptions
from nestmap.model.workload.builders import gemm
from tests.model.multicore.cores import core, star

MACHINE: Final = star(core(0), core(1), core(2, ("Gemm",)), core(3, ("Add", "Relu")))

FIRST = gemm("first", (4, 8), (8, 6))
SECOND = gemm("second", (4, 6), (6, 2), source="relu")
RELU = VectorNode(name="relu", operator="Relu", sources=("first",), iterations=(4, 6))
TANH = VectorNode(name="tanh", operator="Tanh", sources=("second",), iterations=(4, 2))
NETWORK: Final = Workload.of(FIRST, RELU, SECOND, TANH)


def entry(*cores: int, target: str = "default", fixed: bool = False) -> CoreAllocation:
    return CoreAllocation(target=target, cores=cores, fixed=fixed)


ALLOWED: tuple[tuple[CoreAllocation, str, NodeKind, tuple[int, ...]], ...] = (
    (entry(), "Gemm", "layer", (0, 1, 2)),
    (entry(), "Conv", "layer", (0, 1)),
    (entry(), "Add", "layer", (0, 1, 3)),
    (entry(), "Add", "vector", (3,)),
    (entry(), "Tanh", "vector", ()),
    (entry(1, 0), "Gemm", "layer", (1, 0)),
    (entry(0, 2, 3), "Conv", "layer", (0,)),
    (entry(2), "Conv", "layer", ()),
    (entry(0, 1), "Add", "vector", (3,)),
    (entry(0, 3), "Add", "vector", (3,)),
    (entry(0, 1), "Tanh", "vector", ()),
    (entry(0, 2, target="Tanh"), "Tanh", "vector", (0,)),
    (entry(1, target="sum"), "Add", "vector", (1,)),
    (entry(1, 0, 1, target="Gemm", fixed=True), "Gemm", "layer", (1, 0)),
)


@pytest.mark.parametrize(("allocation", "operator", "kind", "cores"), ALLOWED)
def test_allowed_cores(
    allocation: CoreAllocation, operator: str, kind: NodeKind, cores: tuple[int, ...]
) -> None:
    assert allowed_cores(MACHINE, allocation, operator, kind) == cores


def test_entries_are_found_by_name_then_operator_then_default() -> None:
    named, general, rest = entry(1, target="first"), entry(2, target="Gemm"), entry(0)
    mapping = CoreMapping(entries=(rest, general, named))
    assert mapping.of("first", "Gemm") == named
    assert mapping.of("second", "Gemm") == general
    assert mapping.of("relu", "Relu") == rest
    assert CoreMapping(entries=(named,)).of("second", "Gemm") == CoreAllocation()


def test_they_come_back_from_json() -> None:
    hints = (HintLoop(dimension="OY"), HintLoop(dimension="K", tiles=4))
    first = CoreAllocation(target="a", cores=(1, 1), fixed=True, intra=hints[:1], inter=hints[1:])
    model = CoreMapping(entries=(first, entry(2)))
    again = CoreMapping.model_validate_json(model.model_dump_json())
    assert again == model
    assert again.content_hash == model.content_hash != CoreMapping().content_hash
    assert first.hints == hints[::-1]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: entry(fixed=True), "without cores"),
        (lambda: entry(1, 1), "cores 1, 1 to choose from; expected each once"),
        (lambda: CoreMapping(entries=(entry(0), entry(1))), "allocation for 'default' occurs"),
    ],
)
def test_what_cannot_be_is_told(make: type[CoreMapping], told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        make()


FITTING = (
    CoreMapping(),
    CoreMapping(entries=(entry(0, 1, 2, 3),)),
    CoreMapping(entries=(entry(0), entry(3, target="Relu"), entry(2, target="second"))),
    CoreMapping(entries=(entry(0), entry(1, target="Tanh"), entry(1, target="Conv"))),
    CoreMapping(entries=(entry(0, 0, 1, fixed=True),)),
)


@pytest.mark.parametrize("mapping", FITTING)
def test_what_fits_is_accepted(mapping: CoreMapping) -> None:
    check_allocations(mapping, NETWORK, MACHINE)


UNFIT = {
    "an unknown layer": (
        entry(0, target="third"),
        "map.yaml: name 'third': found neither a layer of the network nor an operator type; "
        "expected one of default, Gemm, Relu, Tanh, first, relu, second, tanh",
    ),
    "an unknown core": (
        entry(0, 7, target="first"),
        "map.yaml: core_allocation[1] for 'first': found core 7; expected a compute core: "
        "one of 0, 1, 2, 3",
    ),
    "a core that stores": (
        entry(9),
        "map.yaml: core_allocation[0] for 'default': found storage core 9;",
    ),
    "a core that does not run it": (
        entry(0, 3, target="first"),
        "map.yaml: core_allocation for 'first': found core 3, which does not run Gemm (node "
        "'first'); expected one of 0, 1, 2",
    ),
    "a vector operator on a core for others": (
        entry(2, target="relu"),
        "core 2, which does not run Relu (node 'relu'); expected one of 0, 1, 3",
    ),
    "a default that runs nothing": (entry(3), "core 3, which does not run Gemm (node 'first')"),
    "a fixed default that some do not run": (
        entry(0, 3, fixed=True),
        "core 3, which does not run Gemm",
    ),
}


@pytest.mark.parametrize(("wrong", "told"), UNFIT.values(), ids=list(UNFIT))
def test_what_does_not_fit_is_told(wrong: CoreAllocation, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        check_allocations(CoreMapping(entries=(wrong,)), NETWORK, MACHINE, "map.yaml")


def test_operators_may_be_named_for_other_networks() -> None:
    check_allocations(CoreMapping(entries=(entry(0, target="LSTM"),)), NETWORK, MACHINE)
    with pytest.raises(InputError, match="name 'LTSM'"):
        check_allocations(CoreMapping(entries=(entry(0, target="LTSM"),)), NETWORK, MACHINE)


def test_a_layer_that_no_core_runs_is_told() -> None:
    machine = star(core(0, ("Conv",)))
    with pytest.raises(InputError, match=r"accelerator star: found no core that runs Gemm"):
        check_allocations(CoreMapping(), NETWORK, machine)


K2, D = HintLoop(dimension="K", tiles=2), HintLoop(dimension="D")


def test_tilings_become_hints_by_layer() -> None:
    mapping = CoreMapping(
        entries=(
            CoreAllocation(target="second", inter=(K2,), intra=(D,)),
            CoreAllocation(intra=(D,)),
        )
    )
    expected = SplitOptions(mode=SplitMode.PER_LAYER, hints=((D,), (K2, D), (D,)), cutoffs=(2, 3))
    assert split_from_hints(mapping, NETWORK) == expected
    found = split_from_hints(mapping, NETWORK, Counting.REFERENCE)
    assert found is not None
    assert found.counting is Counting.REFERENCE


def test_entries_without_a_tiling_have_that_of_the_default() -> None:
    mapping = CoreMapping(entries=(entry(1, target="first"), CoreAllocation(intra=(D,))))
    assert split_from_hints(mapping, NETWORK) == SplitOptions(
        mode=SplitMode.PER_LAYER, hints=((D,),)
    )


def test_without_tilings_there_are_no_hints() -> None:
    assert split_from_hints(CoreMapping(entries=(entry(1),)), NETWORK) is None


def test_an_entry_is_for_all_layers_of_its_name() -> None:
    """Two layers of one name in a file have different names here, and one alias."""
    again = copy_with(FIRST, {"name": "first_3", "alias": "first"})
    mapping = CoreMapping(entries=(CoreAllocation(target="first", cores=(1,)),))
    named = resolve_names(mapping, Workload.of(FIRST, again))
    assert [named.of(x, "Gemm").cores for x in ("first", "first_3")] == [(1,), (1,)]
    assert resolve_names(mapping, Workload.of(FIRST)) == mapping
