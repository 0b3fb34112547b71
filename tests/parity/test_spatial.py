"""The spatial mapping generator beside the reference's: the same mappings in the same order.

Known and intended (``docs/differences.md``), each with a test here:

* The reference takes equally good mappings in the order of Python sets, which changes from run to
  run; here dimensions keep their order, and the reference is given the same one.
* Where unrollings as large as each other do not fit an innermost memory, the reference makes the
  wrong ones smaller, or too few. What it cuts once stays cut in the mappings that follow.
* A user's mapping that fills an array dimension beyond its size loses loops, or whole dimensions,
  in the reference; here it is cut down to what is left, or an error.
* The reference's weight-diagonal mapping breaks down wherever it would apply.
"""

from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestmap.model import (
    Accelerator,
    Layer,
    LayerConstraints,
    Loop,
    MappingProblem,
    MemoryLevel,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages.mapping.candidates import SpatialMappingGeneratorStage
from nestmap.search import meets_constraints, spatial_mappings
from nestmap.search.spatial.capacity import within_capacity
from nestmap.search.spatial.unrolling import precision_of, unrolling_limits, used_width
from tests.costmodel.machines import loops
from tests.parity import reference_spatial as reference
from tests.search.cells import array_of_cells
from tests.sweeps import STRESS, every

WORKLOADS = Path(str(files("zigzag") / "inputs" / "workload"))
NETWORKS = (
    "light:alexnet",
    "light:resnet50",
    str(WORKLOADS / "resnet18.onnx"),
    str(WORKLOADS / "mobilenetv2.onnx"),
)
MACHINES = {name: read_accelerator(name) for name in accelerator_names()}
CASES = 1500 if STRESS else 30
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 26, 32, 48, 54, 64, 96, 100)


def layers(network: str) -> list[Layer]:
    """The different layers of a network."""
    found = {layer.equation + str(layer.sizes): layer for layer in read_workload(network).layers}
    return list(found.values())


def hinted(accelerator: Accelerator, dimensions: Sequence[str]) -> LayerConstraints:
    """The same hints for every array dimension."""
    return LayerConstraints(
        spatial_hints=tuple(
            UnrollingHint(array_dimension=side.name, dimensions=tuple(dimensions))
            for side in accelerator.array.sides
        )
    )


def mapping(**unrolled: str) -> SpatialMapping:
    """Loops by array dimension."""
    return SpatialMapping(
        unrollings=tuple(Unrolling(array_dimension=d, loops=loops(x)) for d, x in unrolled.items())
    )


@pytest.mark.parametrize(
    ("machine", "network"),
    every(5, list(product(MACHINES, NETWORKS))),
    ids=lambda name: Path(name).stem,
)
def test_bundled_layers_have_the_same_mappings(machine: str, network: str) -> None:
    accelerator = MACHINES[machine]
    given_by_user = read_mapping(machine, for_accelerator=None)
    for layer in layers(network):
        iterated = [d for d in ("K", "G", "C", "OX", "OY") if layer.sizes.get(d, 1) > 1]
        few = hinted(accelerator, iterated[:3])
        free = MappingProblem(layer=layer, accelerator=accelerator)
        asked = copy_with(free, {"constraints": given_by_user.of(layer)})
        mixable = copy_with(free, {"constraints": few})
        for problem, mixed in ((free, False), (asked, False), (asked, True), (mixable, True)):
            assert_same(with_room(problem), 3, mixed)
            if not is_arbitrary(problem, 3, mixed):
                assert_same(problem, 3, mixed)


def assert_same(problem: MappingProblem, count: int, mixed: bool) -> None:
    """The reference gives the same mappings in the same order."""
    ours, theirs = (
        spatial_mappings(problem, count, mixed),
        reference.generated(problem, count, mixed),
    )
    assert list(ours) == theirs, problem.layer.name


@st.composite
def problems(draw: st.DrawFn) -> MappingProblem:
    """A convolution of any size on a bundled machine with other memories, hints, user's mapping."""
    layer = read_workload("light:alexnet").layers[1]
    names = list(layer.sizes)
    sizes = tuple(Loop(dimension=d, size=draw(st.sampled_from(SIZES))) for d in names)
    accelerator = draw(machines())
    most = 4 if len(accelerator.array.sides) < 3 else 2
    dimensions = st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True)
    hints = tuple(
        UnrollingHint(array_dimension=side.name, dimensions=tuple(draw(dimensions)))
        for side in accelerator.array.sides
    )
    unrollings: list[Unrolling] = []
    if draw(st.booleans()):
        for side in accelerator.array.sides:
            loop = Loop(
                dimension=draw(st.sampled_from(names)), size=draw(st.integers(1, side.size))
            )
            if draw(st.booleans()):
                unrollings.append(Unrolling(array_dimension=side.name, loops=(loop,)))
    wanted = SpatialMapping(unrollings=tuple(unrollings)) if unrollings else None
    return MappingProblem(
        layer=copy_with(layer, {"loops": sizes}),
        accelerator=accelerator,
        constraints=LayerConstraints(spatial_mapping=wanted, spatial_hints=hints),
    )


@st.composite
def machines(draw: st.DrawFn) -> Accelerator:
    """A bundled machine whose innermost memories are larger, and wider or narrower."""
    accelerator = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    memories = list(accelerator.memories)
    for i, level in enumerate(memories[:5]):
        larger = draw(st.sampled_from((1, 2, 4, 100)))
        wider = draw(st.sampled_from((0.0625, 0.25, 1.0, 2.0, 3.0, 8.0)))
        ports = tuple(
            copy_with(x, {"width_max": max(x.width_min, int(x.width_max * wider))})
            for x in level.instance.ports
        )
        instance = copy_with(level.instance, {"size": level.instance.size * larger, "ports": ports})
        memories[i] = copy_with(level, {"instance": instance})
    return copy_with(accelerator, {"memories": tuple(memories)})


@settings(max_examples=CASES)
@given(problems(), st.booleans(), st.sampled_from((1, 3, 5, 20)))
def test_random_problems_have_the_same_mappings(
    problem: MappingProblem, mixed: bool, count: int
) -> None:
    assume(not repeats(problem))
    assert_same(with_room(problem), count, mixed)
    assume(not is_arbitrary(problem, count, mixed))
    assert_same(problem, count, mixed)


def repeats(problem: MappingProblem) -> bool:
    """Whether the user unrolls a dimension over several array dimensions more than it iterates."""
    wanted, sizes = problem.constraints.spatial_mapping, problem.layer.sizes
    found = [loop for x in wanted.unrollings for loop in x.loops] if wanted else []
    factors = {d: [min(x.size, n) for x in found if x.dimension == d] for d, n in sizes.items()}
    return any(len(x) > 1 and prod(x) > sizes[d] for d, x in factors.items())


def with_room(problem: MappingProblem) -> MappingProblem:
    """The problem with memories that hold anything."""
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"size": 2**50})})
        for x in problem.accelerator.memories
    )
    roomy = copy_with(problem.accelerator, {"memories": memories})
    return copy_with(problem, {"accelerator": roomy})


def is_arbitrary(problem: MappingProblem, count: int, mixed: bool) -> bool:
    """Whether the reference cuts mappings to fit a memory by chance or by mistake."""
    uncut = spatial_mappings(with_room(problem), count, mixed)
    return is_passed_on(problem, uncut) or any(
        has_tie(problem, x, operand) for x in uncut for operand in problem.links
    )


def is_passed_on(problem: MappingProblem, uncut: Sequence[SpatialMapping]) -> bool:
    """Whether an array dimension of a mapping is cut and a later mapping has the same on it."""
    for i, wanted in enumerate(uncut):
        for before, after in zip(
            wanted.unrollings, within_capacity(problem, wanted).unrollings, strict=True
        ):
            later = (x.on(before.array_dimension) for x in uncut[i + 1 :])
            if after != before and before.loops in later:
                return True
    return False


def has_tie(problem: MappingProblem, uncut: SpatialMapping, operand: str) -> bool:
    """Whether two unrollings are the largest ones while the innermost memory has no room."""
    innermost, relevant = problem.levels(operand)[0], used_width(problem, operand)
    room = max(1, innermost.instance.size // precision_of(problem, operand))
    served = [x for x in uncut.unrollings if x.array_dimension in innermost.served_dimensions]
    sizes = sorted(y.size for x in served for y in x.loops if y.dimension in relevant)
    while prod(sizes) > room:
        if sizes[-2:] == [sizes[-1]] * 2:
            return True
        sizes = sorted([*sizes[:-1], sizes[-1] - 1])
    return False


@settings(max_examples=CASES)
@given(problems())
def test_largest_unrollings_are_the_same(problem: MappingProblem) -> None:
    expected = {
        side: {d: max(1, n) for d, n in table.items()}
        for side, table in reference.limits(problem).items()
    }
    assert unrolling_limits(problem) == expected


@settings(max_examples=CASES)
@given(problems(), st.booleans())
def test_mappings_are_ranked_by_the_same_figure(problem: MappingProblem, mixed: bool) -> None:
    roomy = with_room(problem)
    found = [x for x in spatial_mappings(roomy, 20, mixed) if any(y.loops for y in x.unrollings)]
    worths = [reference.indicator(roomy, x) for x in found]
    assert worths == sorted(worths, reverse=True)
    for worth, chosen in zip(worths, found, strict=True):
        factors = [chosen.factor_of(d) for d in problem.layer.sizes]
        assert worth == prod(factors) + prod(factors) / max(factors) - 1


def convolution(accelerator: str, **sizes: int) -> MappingProblem:
    """A convolution in 8 bit, of size 1 along all other dimensions."""
    layer = read_workload("light:alexnet").layers[1]
    given_sizes = tuple(Loop(dimension=d, size=sizes.get(d, 1)) for d in layer.sizes)
    return MappingProblem(
        layer=copy_with(layer, {"loops": given_sizes}), accelerator=MACHINES[accelerator]
    )


def test_the_reference_cuts_equal_unrollings_alike() -> None:
    problem = convolution("tesla_npu_like", OX=32, OY=32, B=2)
    wanted = mapping(D1="OX 32", D2="OY 32", D3="B 2")
    theirs = reference.within_capacity(problem, wanted)
    assert theirs == mapping(D1="OX 23", D2="OY 23", D3="B 2")  # 1058 words in 1024
    assert within_capacity(problem, wanted) == mapping(D1="OX 23", D2="OY 22", D3="B 2")


def test_a_pinned_unrolling_behind_a_narrow_shared_port_is_kept() -> None:
    """16 inputs a cycle for 32 rows: the port takes two cycles, and the mapping stays."""
    problem = convolution("tpu_like", K=32, C=32)
    memories = list(problem.accelerator.memories)
    shared = next(i for i, x in enumerate(memories) if {"I1", "O"} <= set(x.operands))
    instance = memories[shared].instance
    ports = tuple(copy_with(x, {"width_max": 128}) for x in instance.ports)
    memories[shared] = copy_with(
        memories[shared], {"instance": copy_with(instance, {"ports": ports})}
    )
    pinned = mapping(D1="K 32", D2="C 32")
    asked = copy_with(
        problem,
        {
            "accelerator": copy_with(problem.accelerator, {"memories": tuple(memories)}),
            "constraints": LayerConstraints(spatial_mapping=pinned),
        },
    )
    assert reference.generated(asked, 1) == [pinned]
    assert spatial_mappings(asked, 1) == (pinned,)


def test_the_reference_cuts_later_mappings_along_with_the_first() -> None:
    problem = convolution("meta_prototype", G=2, C=3)
    weights = problem.accelerator.memories[0]
    ports = tuple(copy_with(x, {"width_max": 24}) for x in weights.instance.ports)
    four_words = copy_with(weights.instance, {"size": 32, "ports": ports})
    level = copy_with(weights, {"instance": four_words})
    memories = (level, *problem.accelerator.memories[1:])
    hints = (("D1", "B"), ("D2", "B"), ("D3", "G"), ("D4", "C"))
    hinted_dimensions = tuple(UnrollingHint(array_dimension=s, dimensions=(d,)) for s, d in hints)
    problem = copy_with(
        problem,
        {
            "accelerator": copy_with(problem.accelerator, {"memories": memories}),
            "constraints": LayerConstraints(spatial_hints=hinted_dimensions),
        },
    )
    both, alone = ({"D3": "G 2", "D4": "C 2"}, {"D3": "", "D4": "C 3"})
    empty = {"D1": "", "D2": ""}
    assert spatial_mappings(problem, 2) == (mapping(**empty, **both), mapping(**empty, **alone))
    assert reference.generated(problem, 2)[1] == mapping(**empty, D3="", D4="C 2")


def test_the_reference_leaves_out_a_dimension_that_is_unrolled_too_often() -> None:
    problem = convolution("tpu_like", K=2)
    wanted = mapping(D1="K 2", D2="K 2")
    asked = copy_with(problem, {"constraints": LayerConstraints(spatial_mapping=wanted)})
    assert reference.generated(asked, 1) == [mapping(D1="", D2="K 2")]
    assert spatial_mappings(asked, 1) == (mapping(D1="K 2", D2=""),)


def test_the_reference_drops_loops_that_overfill_an_array_dimension() -> None:
    problem = convolution("tpu_like", K=64, C=64)
    wanted = mapping(D1="K 16 C 4")
    asked = copy_with(problem, {"constraints": LayerConstraints(spatial_mapping=wanted)})
    assert {x.on("D1") for x in reference.generated(asked, 3)} == {loops("C 4")}
    assert meets_constraints(asked, wanted).on("D1") == loops(
        "K 16 C 4"
    )  # and the stage says it is wrong


def test_the_weight_diagonal_mapping_of_the_reference_breaks_down() -> None:
    layer = convolution("tpu_like", K=16, C=4, OX=24, FX=3).layer
    columns_of_channels = UnrollingHint(array_dimension="D1", dimensions=("K",))
    columns_of_both = UnrollingHint(array_dimension="D1", dimensions=("K", "OX"))
    rows = UnrollingHint(array_dimension="D2", dimensions=("FX",))
    plain, diagonal = (
        MappingProblem(
            layer=layer,
            accelerator=with_port_names(array_of_cells(64, 32)),
            constraints=LayerConstraints(spatial_hints=(columns, rows)),
        )
        for columns in (columns_of_channels, columns_of_both)
    )
    expected = reference.generated(plain, 3)
    assert reference.generated(plain, 3, weight_diagonal=True) == expected  # nothing to add
    with pytest.raises(KeyError, match="OX"):  # here OX 4 goes next to K 16
        reference.generated(diagonal, 3, weight_diagonal=True)
    ours = SpatialMappingGeneratorStage(max_mappings=1, weight_diagonal=True)
    assert [x.spatial_mapping for x in ours(diagonal)] == [mapping(D1="K 16 OX 4", D2="FX 3")]


def with_port_names(accelerator: Accelerator) -> Accelerator:
    """The machine with names of ports that the reference accepts."""
    memories: list[MemoryLevel] = []
    for level in accelerator.memories:
        named = enumerate(level.instance.ports, start=1)
        ports = tuple(copy_with(x, {"name": f"rw_port_{i}"}) for i, x in named)
        instance = copy_with(level.instance, {"ports": ports})
        memories.append(copy_with(level, {"instance": instance}))
    return copy_with(accelerator, {"memories": tuple(memories)})
