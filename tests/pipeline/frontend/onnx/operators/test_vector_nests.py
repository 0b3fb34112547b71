"""Nests of vector operators against the operators themselves: what is not read changes nothing."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from nestmap.model import InputError, VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE
from nestmap.pipeline.frontend.onnx.operators.record import Vector
from nestmap.pipeline.frontend.onnx.operators.registry import OPERATORS, operators_that_become
from tests.pipeline.frontend.onnx.node_cases import Array, NodeCase, node_cases
from tests.pipeline.frontend.onnx.operators.regions import Index, Mask, needed
from tests.pipeline.frontend.onnx.running import Runner

PARAMETERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys((name for name in OPERATORS if name.startswith("Reduce")), (1,)),
    **dict.fromkeys(("CumSum", "CumProd", "TopK", "Upsample", "AffineGrid"), (1,)),
    **dict.fromkeys(("DFT", "Col2Im"), (1, 2)),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
}
"""Inputs that say what to do; the nest depends on them where they are stored in the model."""

NOT_RUN = {"Bernoulli"}
"""It gives something else each time."""

TRIED = 6
"""Elements of an output that are looked at."""

LARGEST = 2_000
"""Outputs of more elements take onnx too long."""


WITH_ROWS = {"QuantizeLinear", "DequantizeLinear", "RotaryEmbedding"}
"""Element-wise operators whose scales are for blocks, or that turn pairs."""

NOT_KNOWN = {
    *("NonZero", "Unique", "NonMaxSuppression"),  # what they make depends on all elements
    "DynamicQuantizeLinear",  # of one scale for all elements
    "com.microsoft.Unique",
}
"""Vector operators of which each element may need all elements of the inputs."""


@final
@dataclass(frozen=True, eq=False)
class Made:
    """A vector operator and what runs it."""

    name: str
    node: VectorNode
    runner: Runner
    inputs: Mapping[str, Array]

    def run(self, changed: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs, where some inputs are others."""
        return self.runner({**self.inputs, **changed})


def _made(case: NodeCase, *, stored: bool) -> Made | None:
    (proto,) = case.model.graph.node
    asked = PARAMETERS.get(proto.op_type, ())
    names = [name for i, name in enumerate(proto.input) if name and i in asked]
    texts = {value.name for value in case.model.graph.input} - case.inputs.keys()
    if texts or (stored and not names):
        return None
    model = case.unstated(names) if stored else case.model
    try:
        nodes = parse_onnx(model).nodes
    except InputError:
        return None
    if not isinstance(nodes[0], VectorNode) or len(nodes) != 1:
        return None
    return Made(case.name, nodes[0], Runner(model), case.inputs)


@cache
def _all_made() -> tuple[Made, ...]:
    cases = (case for case in node_cases().values() if len(case.model.graph.node) == 1)
    found = (_made(case, stored=stored) for case in cases for stored in (True, False))
    return tuple(made for made in found if made is not None)


def _tried(sizes: Index, random: np.random.Generator) -> Iterator[Index]:
    """The corners of a tensor, and some places inside."""
    if 0 in sizes:
        return
    yield tuple(0 for _ in sizes)
    yield tuple(size - 1 for size in sizes)
    for _ in range(TRIED - 2):
        yield tuple(int(random.integers(size)) for size in sizes)


def _other(array: Array, kept: Mask, random: np.random.Generator) -> Array:
    """Other elements where they are not kept, none that the array could not have."""
    mixed = random.permutation(array.ravel()).reshape(array.shape)
    if array.dtype.kind == "b":
        mixed = random.random(array.shape) < 0.5
    elif array.dtype.kind == "f":
        mixed = (mixed * random.uniform(0.5, 1.5, array.shape)).astype(array.dtype)
    return np.where(kept, array, mixed)


def _reads(made: Made, index: Index) -> dict[str, Mask]:
    """What an element of the output reads, by the names of inputs."""
    assert made.node.nest is not None
    sizes = [tensor.sizes or () for tensor in made.node.inputs]
    masks = needed(made.node.nest, index, sizes)
    return {x.name: mask for x, mask in zip(made.node.inputs, masks, strict=True)}


def _unsound(made: Made) -> Iterator[str]:
    """Elements of outputs that change with what they do not read."""
    random = np.random.default_rng(7)
    before = made.run({})
    for index in _tried(before[0].shape, random):
        masks = {name: mask for name, mask in _reads(made, index).items() if not mask.all()}
        changed = {name: _other(made.inputs[name], mask, random) for name, mask in masks.items()}
        after = made.run(changed)
        for old, new in zip(before, after, strict=True):
            alike = old.shape == before[0].shape
            if alike and not np.allclose(old[index], new[index], rtol=1e-4, equal_nan=True):
                yield f"{made.name}: {index}"


def _known() -> Iterator[Made]:
    for made in _all_made():
        small = made.node.outputs[0].elements <= LARGEST
        if small and made.node.nest is not None and made.node.operator not in NOT_RUN:
            yield made


def test_what_is_not_read_changes_nothing() -> None:
    assert [place for made in _known() for place in _unsound(made)] == []


def test_elementwise_operators_read_one_element_of_each_input() -> None:
    seen = Counter[str]()
    for made in _known():
        if made.node.operator in ELEMENTWISE.keys() - WITH_ROWS:
            index = tuple(size - 1 for size in made.node.outputs[0].sizes or ())
            assert [mask.sum() for mask in _reads(made, index).values()] == [
                1 for _ in made.node.inputs
            ], made.name
            seen[made.node.operator] += 1
    assert len(seen) >= 68
    assert seen.total() >= 465


def test_nests_are_known() -> None:
    works = {name: OPERATORS[name].becomes for name in operators_that_become(Vector)}
    assert {name for name, x in works.items() if isinstance(x, Vector) and not x.reads} == NOT_KNOWN
    known = Counter(made.node.operator for made in _all_made() if made.node.nest is not None)
    assert len(known) >= 115
    assert known.total() >= 930
    unknown = {x for x in _all_made() if x.node.nest is None and x.node.operator not in NOT_KNOWN}
    reduced = {made.name for made in unknown if made.node.outputs[0].sizes != ()}
    assert all(re.search("do_not_keepdims|_asc_axes|_desc_axes", name) for name in reduced), reduced
