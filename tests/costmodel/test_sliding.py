"""Windows that slide: exact counts against the simulator, and never more than without reuse."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import Accelerator, MappingType, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import convolution, machine, mapped, memory, ordered
from tests.simulator import simulate
from tests.single_values import among, between
from tests.strategies import Case, evaluated_cases, subsets, temporal_mappings
from tests.sweeps import some_of
from tests.tiny_cases import BITS
from tests.tiny_cases import memory as word_memory


def reusing(accelerator: Accelerator, names: tuple[str, ...]) -> Accelerator:
    """The accelerator with window reuse in these memories."""
    memories = tuple(
        copy_with(
            level, {"instance": copy_with(level.instance, {"window_reuse": level.name in names})}
        )
        for level in accelerator.memories
    )
    return copy_with(accelerator, {"memories": memories})


def with_reuse(case: Case, names: tuple[str, ...]) -> Case:
    """The case on an accelerator with window reuse in these memories."""
    problem = case.spatial.problem
    changed = copy_with(problem, {"accelerator": reusing(problem.accelerator, names)})
    return Case(copy_with(case.spatial, {"problem": changed}), case.temporal)


@st.composite
def windows(draw: st.DrawFn) -> Case:
    """A tiny convolution along one axis or two, in which some memories reuse windows."""
    axes = draw(among(("X", "XY")))
    sizes = {d: draw(among((1, 2, 3))) for d in "KC"}
    relations: list[str] = []
    for axis in axes:
        sizes[f"O{axis}"] = draw(among((1, 2, 3, 4, 6)))
        sizes[f"F{axis}"] = draw(among((1, 2, 3, 4)))
        stride, dilation = draw(among(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (3, 2))))
        low = axis.lower()
        relations.append(f"i{low}={stride}*o{low}+{dilation}*f{low}")
    out, kernel, inner = ("".join(f"[{x}{a.lower()}]" for a in axes) for x in "ofi")
    layer = layer_from_equation(
        f"O[k]{out}+=W[k][c]{kernel}*I[c]{inner}",
        sizes,
        name="tiny",
        relations=relations,
        precision={"W": BITS, "I": BITS, "O": BITS},
        partial_precision=BITS,
    )
    everything = ("I1", "I2", "O")
    memories = (
        *(word_memory(f"m{i}", ("I1",), ("D1",)) for i in range(draw(between(1, 2)))),
        word_memory("top", everything, ("D1",)),
    )
    plain = machine(*memories, sides={"D1": 6})
    dimension = draw(among(tuple(sizes)))
    factor = draw(st.sampled_from([n for n in range(1, 7) if sizes[dimension] % n == 0]))
    spatial = mapped(layer, plain, {"D1": f"{dimension} {factor}"})
    return Case(spatial, draw(temporal_mappings(spatial)))


@settings(max_examples=some_of(1600), deadline=None)
@given(windows(), subsets(("m0", "m1")))
def test_accesses_are_those_counted_cycle_by_cycle(case: Case, names: tuple[str, ...]) -> None:
    reuse = with_reuse(case, names)
    off, on = (simulate(x.spatial, x.temporal) for x in (case, reuse))
    before, after = (evaluate(x.spatial, x.temporal).levels for x in (case, reuse))
    steps = {index.steps[-1] for index in case.spatial.layer.operand("I").indices}
    for old, new in zip(before, after, strict=True):
        place = (new.operand, new.level)
        exact_before = old.costs.accesses == off.as_reference(*place)
        assert exact_before or steps != {1}  # tiles are exact without dilation
        if exact_before:
            assert new.costs.accesses == on.as_reference(*place)


@settings(max_examples=some_of(400), deadline=None)
@given(evaluated_cases())
def test_reuse_never_raises_traffic_or_stalls(case: Case) -> None:
    names = tuple(level.name for level in case.spatial.accelerator.memories)
    reuse = with_reuse(case, names)
    before, after = (evaluate(x.spatial, x.temporal) for x in (case, reuse))
    for old, new in zip(before.levels, after.levels, strict=True):
        pairs = zip(old.costs.accesses, new.costs.accesses, strict=True)
        assert all(now <= was for was, now in pairs)
    assert after.dynamic_energy <= before.dynamic_energy
    assert after.latency0 <= before.latency0
    bounds = lower_bounds(reuse.spatial)
    assert bounds.energy <= after.energy * (1 + 1e-9)
    assert bounds.latency <= after.latency


REGISTER = memory("register", operands="I1", width=8)
ROW = mapped(
    convolution({"K": 2, "C": 1, "OX": 8, "FX": 3}),
    reusing(machine(REGISTER, memory("top")), ("register",)),
)


@pytest.mark.parametrize(
    ("order", "cut", "loaded"),
    [
        ("FX 3 OX 8 K 2", 1, 2 * (3 + 7)),  # each K begins a run
        ("FX 3 K 2 OX 8", 1, 3 + 7),  # K leaves the window in place
        ("FX 3 OX 2 K 2 OX 4", 1, 8 * (3 + 1)),  # K ends the runs of 2
        ("FX 3 OX 2 OX 4 K 2", 1, 2 * (3 + 7)),  # loops over one dimension are one
        ("OX 2 FX 3 OX 4 K 2", 2, 2 * (4 + 3 * 2)),  # a tile of two outputs
        ("OX 8 FX 3 K 2", 1, 2 * (8 + 2)),  # FX slides, too
    ],
)
def test_a_row(order: str, cut: int, loaded: int) -> None:
    n = len(order.split()) // 2
    temporal = ordered(order, {"O": (n,), "W": (n,), "I": (cut, n)})
    costs = evaluate(ROW, temporal)
    assert costs.level("I", 0).costs.accesses[3] == loaded  # written from above
    assert costs.level("I", 1).costs.accesses[0] == loaded  # read towards the array


def test_rows_of_a_batch_are_those_of_single_mappings() -> None:
    """What a row keeps of the row before does not hide that it slides otherwise."""
    for mappings in loma(ROW, None, MappingType.UNEVEN):
        batch = evaluate_batch(mappings)
        for row in range(len(mappings)):
            one = evaluate(ROW, mappings.row(row))
            assert (batch.energy[row], batch.latency2[row]) == (one.energy, one.latency)
