"""What must not matter: names, dimensions that do not iterate, loops and unrollings of size 1.

Two changes that look neutral are not, here as in the reference, and no law is claimed for them:

- A loop of size 1 in the order, of a dimension that iterates elsewhere, still has that dimension's
  relevance and ends a run of loops of another kind (``nestmap.costmodel.reuse``: stationarity,
  ``top_relevant``, ``top_irrelevant``). It is neutral next to a loop of its own
  dimension in the same level of all operands.
- An affine index stays partially relevant when one of its dimensions has size 1, and ends a run of
  relevant loops where a plain index would not.
"""

import re
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import (
    AffineIndex,
    Cuts,
    Layer,
    Loop,
    MappingType,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
    Term,
    Unrolling,
)
from nestmap.model.base import copy_with
from nestmap.search import loma
from tests.properties.variants import examples, few_examples, with_layer, with_links
from tests.strategies import Case, evaluated_cases, spatial_problems


def renamed(text: str, names: Mapping[str, str]) -> str:
    """JSON text with every value that is a name replaced."""

    def new(match: re.Match[str]) -> str:
        return f'"{names.get(match[1], match[1])}"'

    return re.sub(r'"(\w+)"(?!:)', new, text)


def shuffled(names: Sequence[str]) -> st.SearchStrategy[dict[str, str]]:
    """Every name gets another one of them, or itself."""
    return st.permutations(names).map(lambda others: dict(zip(names, others, strict=True)))


@st.composite
def new_names(draw: st.DrawFn, spatial: SpatialProblem) -> dict[str, str]:
    """Names of dimensions, inputs, array dimensions and memories exchanged among themselves."""
    accelerator, layer = spatial.accelerator, spatial.layer
    groups = (
        list(layer.sizes),
        [operand.name for operand in layer.inputs],
        list(accelerator.array.sizes),
        [memory.name for memory in accelerator.memories],
    )
    names = {"layer": "other layer", "machine": "other machine"}
    for group in groups:
        names |= draw(shuffled(group))
    return names


@examples
@given(evaluated_cases(), st.data())
def test_renaming_only_renames(case: Case, data: st.DataObject) -> None:
    names = data.draw(new_names(case.spatial))
    linked = with_links(case.spatial).model_dump_json()
    spatial = SpatialProblem.model_validate_json(renamed(linked, names))
    temporal = TemporalMapping.model_validate_json(renamed(case.temporal.model_dump_json(), names))
    before = evaluate(case.spatial, case.temporal).model_dump_json()
    assert evaluate(spatial, temporal).model_dump_json() == renamed(before, names)


def counts(statistics: SearchStatistics) -> list[int]:
    return [reason.count for reason in statistics.infeasible]


@few_examples
@given(spatial_problems(2**8), st.data())
def test_renaming_does_not_change_a_search(spatial: SpatialProblem, data: st.DataObject) -> None:
    names = data.draw(new_names(spatial))
    linked = with_links(spatial).model_dump_json()
    other = SpatialProblem.model_validate_json(renamed(linked, names))
    before = list(loma(spatial, 4, MappingType.UNEVEN))
    after = list(loma(other, 4, MappingType.UNEVEN))
    for one, two in zip(before, after, strict=True):
        assert (one.orders == two.orders).all()
        assert (one.cuts == two.cuts).all()
        assert (evaluate_batch(one).energy == evaluate_batch(two).energy).all()
        assert counts(one.statistics) == counts(two.statistics)


@st.composite
def layers_with_one_more(draw: st.DrawFn, layer: Layer) -> Layer:
    """The layer with a dimension of size 1, which indexes some of the operands.

    It is not the first one: where no loop is left, that one lends its name to a loop of size 1.
    """
    at = draw(st.integers(1, len(layer.loops)))
    loops = (*layer.loops[:at], Loop(dimension="ONE", size=1), *layer.loops[at:])
    index = (AffineIndex(terms=(Term(dimension="ONE"),)),)
    output = copy_with(
        layer.output, {"indices": layer.output.indices + index * draw(st.integers(0, 1))}
    )
    inputs = tuple(
        copy_with(x, {"indices": index * draw(st.integers(0, 1)) + x.indices}) for x in layer.inputs
    )
    return copy_with(layer, {"loops": loops, "output": output, "inputs": inputs})


@examples
@given(evaluated_cases(), st.data())
def test_a_dimension_of_size_one_changes_nothing(case: Case, data: st.DataObject) -> None:
    layer = data.draw(layers_with_one_more(case.spatial.layer))
    before = evaluate(case.spatial, case.temporal)
    assert evaluate(with_layer(case.spatial, layer), case.temporal) == before


@few_examples
@given(spatial_problems(2**8), st.data())
def test_a_dimension_of_size_one_does_not_change_a_search(
    spatial: SpatialProblem, data: st.DataObject
) -> None:
    other = with_layer(spatial, data.draw(layers_with_one_more(spatial.layer)))
    assert found(other) == found(spatial)


def found(spatial: SpatialProblem) -> list[TemporalMapping]:
    batches = loma(spatial, 4, MappingType.UNEVEN)
    return [batch.row(i) for batch in batches for i in range(len(batch))]


def with_loop(temporal: TemporalMapping, at: int, loop: Loop) -> TemporalMapping:
    """One more loop just outside the loop at a position, in the same levels."""
    order = (*temporal.order[: at + 1], loop, *temporal.order[at + 1 :])
    cuts = tuple(
        Cuts(operand=x.operand, positions=tuple(cut + (cut > at) for cut in x.positions))
        for x in temporal.cuts
    )
    return TemporalMapping(order=order, cuts=cuts)


@examples
@given(evaluated_cases(), st.data())
def test_a_loop_of_size_one_beside_its_own_dimension_changes_nothing(
    case: Case, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(case.temporal.order) - 1))
    beside = Loop(dimension=case.temporal.order[at].dimension, size=1)
    other = with_loop(case.temporal, at, beside)
    before, after = evaluate(case.spatial, case.temporal), evaluate(case.spatial, other)
    assert copy_with(after, {"temporal_mapping": case.temporal}) == before


@st.composite
def with_unrolling_of_one(draw: st.DrawFn, spatial: SpatialProblem) -> SpatialProblem:
    """The problem with a loop dimension unrolled once over an array dimension."""
    dimension = draw(st.sampled_from(list(spatial.layer.sizes)))
    name = draw(st.sampled_from(list(spatial.accelerator.array.sizes)))
    mapping = spatial.spatial_mapping
    wider = Unrolling(
        array_dimension=name, loops=(*mapping.on(name), Loop(dimension=dimension, size=1))
    )
    others = tuple(x for x in mapping.unrollings if x.array_dimension != name)
    return copy_with(
        spatial, {"spatial_mapping": copy_with(mapping, {"unrollings": (*others, wider)})}
    )


@examples
@given(evaluated_cases(), st.data())
def test_an_unrolling_of_size_one_changes_nothing(case: Case, data: st.DataObject) -> None:
    other = data.draw(with_unrolling_of_one(case.spatial))
    before, after = evaluate(case.spatial, case.temporal), evaluate(other, case.temporal)
    mapping = case.spatial.spatial_mapping
    assert copy_with(after, {"spatial_mapping": mapping}) == before
