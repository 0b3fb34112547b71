"""Every model survives the way through JSON unchanged, and so does its content hash."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from hashlib import sha256
from typing import cast

from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from nestmap import model
from nestmap.costmodel import evaluate, evaluate_vector
from nestmap.model import (
    Frozen,
    Infeasibility,
    LayerConstraints,
    LayerFront,
    LayerNode,
    LayerResult,
    LayerTopLevels,
    Loop,
    MappingConstraints,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    NoCostNode,
    OperandLink,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
    TopLevel,
    UnrollingHint,
    Workload,
)
from nestmap.model.base import replaced
from tests.properties.variants import examples, few_examples
from tests.strategies import Case, evaluated_cases
from tests.vectors import vector_nodes, vector_units


@st.composite
def constraints(draw: st.DrawFn, case: Case) -> MappingConstraints:
    """Constraints of every kind for the case's layer."""
    sizes = case.spatial.layer.sizes
    dimensions = st.sampled_from(list(sizes))
    sides = list(case.spatial.accelerator.array.sizes)
    ordered = st.builds(OrderedLoop, dimension=dimensions, size=st.none() | st.integers(1, 9))
    orders = st.lists(ordered, max_size=3).map(tuple)
    inner, outer = draw(orders), draw(orders)
    held = st.builds(
        PinnedMemory, memory=st.text(min_size=1), loops=st.integers(0, len(inner) + len(outer))
    )
    entry = LayerConstraints(
        target=draw(st.text(max_size=5)),
        spatial_mapping=draw(st.none() | st.just(case.spatial.spatial_mapping)),
        spatial_hints=(UnrollingHint(array_dimension=sides[0], dimensions=tuple(sizes)),),
        links=tuple(
            OperandLink(operand=x, memory_operand=m) for x, m in case.spatial.problem.links.items()
        ),
        temporal_ordering=inner,
        outer_ordering=outer,
        memory_levels=(PinnedLevels(operand="W", memories=(draw(held),)),),
    )
    return MappingConstraints(entries=(entry,))


@st.composite
def top_levels(draw: st.DrawFn, case: Case) -> tuple[TopLevel, ...]:
    problem = case.spatial.problem
    operand, carried = draw(st.sampled_from(list(problem.links.items())))
    names = [level.name for level in problem.levels(operand)]
    return (TopLevel(operand=carried, memory=draw(st.sampled_from(names))),)


Everything = tuple[SpatialProblem, NetworkProblem, NetworkEvaluation, NetworkFront]


@st.composite
def everything(draw: st.DrawFn) -> Everything:
    """Two questions and two answers that together can hold an instance of every model."""
    case = draw(evaluated_cases())
    layer = case.spatial.layer
    source = NoCostNode(name=draw(st.text(min_size=1, max_size=9)), operator="Relu")
    first = replaced(layer.inputs[0], {"source": source.name, "constant": True})
    reader = replaced(layer, {"name": f"after {source.name}", "inputs": (first, *layer.inputs[1:])})
    vector = replaced(draw(vector_nodes()), {"name": f"vector {source.name}"})
    plain = case.spatial.accelerator
    accelerator = replaced(plain, {"vector_unit": draw(vector_units(plain))})
    network = NetworkProblem(
        workload=Workload(name="net", nodes=(source, LayerNode(layer=reader), vector)),
        accelerator=accelerator,
        constraints=draw(constraints(case)),
        top_levels=(LayerTopLevels(layer=reader.name, top_levels=draw(top_levels(case))),),
    )
    reason = Infeasibility(reason=draw(st.text()), count=draw(st.integers(0, 2**40)))
    result = LayerResult(
        cme=evaluate(case.spatial, case.temporal),
        statistics=SearchStatistics(
            evaluations=draw(st.integers(0, 2**60)),
            infeasible=(reason,),
            pruned=draw(st.integers(0, 2**40)),
        ),
    )
    front = LayerFront(cmes=(result.cme,), statistics=result.statistics)
    return (
        case.spatial,
        network,
        NetworkEvaluation(layers=(result,), vector=(evaluate_vector(vector, accelerator),)),
        NetworkFront(layers=(front,)),
    )


def parts(value: object) -> Iterator[Frozen]:
    """A model and all models inside it."""
    if isinstance(value, Frozen):
        yield value
        for name in type(value).model_fields:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple):
        for item in cast(tuple[object, ...], value):
            yield from parts(item)


unshrunk = settings(phases=[Phase.generate], max_examples=500, database=None, deadline=None)


def all_parts(everything: Everything) -> list[Frozen]:
    return [part for value in everything for part in parts(value)]


def through_json(value: Frozen) -> Frozen:
    return type(value).model_validate_json(value.model_dump_json())


@few_examples
@given(everything())
def test_every_model_comes_back_from_json(models: Everything) -> None:
    for part in set(all_parts(models)):
        back = through_json(part)
        assert back == part
        assert hash(back) == hash(part)
        assert back.content_hash == part.content_hash


def test_the_examples_hold_every_model() -> None:
    exported = {
        member
        for _, member in inspect.getmembers(model, inspect.isclass)
        if issubclass(member, Frozen) and member not in (Frozen, model.Recording)
    }
    assert len(exported) > 30

    def complete(models: Everything) -> bool:
        return exported <= {type(part) for part in all_parts(models)}

    assert complete(find(everything(), complete, settings=unshrunk))


@examples
@given(evaluated_cases(), evaluated_cases())
def test_content_hashes_differ_where_models_do(one: Case, other: Case) -> None:
    for a, b in ((one.spatial, other.spatial), (one.temporal, other.temporal)):
        assert (a.content_hash == b.content_hash) is (a == b)


def test_content_hashes_stay_the_same_for_ever() -> None:
    # stores key on them: a change makes every earlier result unknown
    text = b'{"type":"Loop","value":{"dimension":"K","size":8}}'
    assert Loop(dimension="K", size=8).content_hash == sha256(text).hexdigest()[:32]


def test_the_class_is_part_of_the_content() -> None:
    assert SpatialMapping().content_hash != LayerConstraints().content_hash
    assert MappingConstraints().content_hash != Workload(name="a", nodes=()).content_hash
