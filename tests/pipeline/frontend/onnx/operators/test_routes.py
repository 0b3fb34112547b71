"""Routes of data movement against the operators themselves, run on elements that are numbered."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import final

import numpy as np

from nestmap.model import InputError, NoCostNode, VectorNode
from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.operators.record import Movement
from nestmap.pipeline.frontend.onnx.operators.registry import OPERATORS, operators_that_become
from tests.pipeline.frontend.onnx.node_cases import Array, NodeCase, node_cases
from tests.pipeline.frontend.onnx.operators.regions import is_exact, origins
from tests.pipeline.frontend.onnx.running import Runner
from tests.pipeline.frontend.onnx.written import written

MOVEMENT = operators_that_become(Movement)
ROUTES = {
    name
    for name, operator in OPERATORS.items()
    if isinstance(operator.becomes, Movement) and operator.becomes.routes
}

ALL = range(100)
DATA: Mapping[str, range | tuple[int, ...]] = {
    "Concat": ALL,
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), (0, 2)),
    "TensorScatter": (0, 1),
}
"""Inputs whose elements move; else the first one."""

MADE = {
    *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "EyeLike", "OneHot"),
    *("RandomUniformLike", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
    "BitCast",
    "Scatter",
}
"""What they make are not elements of an input, or not as numbers; onnx cannot run the last one."""

HOLES = {"Trilu", "MaxUnpool"}
"""Some elements of the output are zeros where a route leads to an element."""

MOST = 200
"""About so many elements of an output are looked at."""

BY_DATA = {
    *("GatherElements", "ScatterElements", "ScatterND", "TensorScatter"),
    *("ReverseSequence", "Compress", "MaxUnpool"),
}
"""Where their elements come from depends on elements of another input, each for itself."""

PLACING = {"Gather", "GatherND", "GatherElements", "ScatterElements", "TensorScatter"}
"""Operators that take the indices of a case in another order, too."""

COMPUTED = ("training", "with_reduction", "scatternd_add", "scatternd_m")
"""Parts of the names of cases in which elements are changed as well."""


@final
@dataclass(frozen=True)
class Moved:
    """A node of data movement, and its outputs where each element of its data is a number."""

    name: str
    operator: str
    node: NoCostNode
    numbers: Mapping[int, Array]
    outputs: tuple[Array, ...]

    @property
    def exact(self) -> bool:
        """Whether all routes from data lead to an element."""
        routes = self.node.routes
        return routes is not None and all(is_exact(x) for x in routes if x.input in self.numbers)


def _moved(case: NodeCase, *, stored: bool) -> Moved | None:
    """The case with parameters that are stored in the model, or given when it runs."""
    (proto,) = case.model.graph.node
    data = DATA.get(proto.op_type, (0,))
    names = [name for i, name in enumerate(proto.input) if i in data]
    if any(name not in case.inputs for name in names):
        return None
    others = [name for name in proto.input if name and name not in names]
    model = case.unstated(others) if stored else case.model
    try:
        (node,) = parse_onnx(model).nodes
    except InputError:
        return None
    assert isinstance(node, NoCostNode)
    read = [tensor.name for tensor in node.inputs]
    numbers = {read.index(x): _numbered(case.inputs[x], i) for i, x in enumerate(names)}
    given = dict(case.inputs) | {read[i]: value for i, value in numbers.items()}
    return Moved(case.name, proto.op_type, node, numbers, Runner(model)(given))


def _numbered(like: Array, position: int) -> Array:
    """Elements that are different from each other and from all small numbers."""
    return np.arange(like.size, dtype=np.float64).reshape(like.shape) + 1000 * (position + 1) + 0.5


def _cases() -> Iterator[NodeCase]:
    for case in node_cases().values():
        operators = [node.op_type for node in case.model.graph.node]
        moves = len(operators) == 1 and operators[0] in ROUTES and operators[0] not in MADE
        if moves and not any(part in case.name for part in COMPUTED):
            yield case


@cache
def _all_moved() -> tuple[Moved, ...]:
    found = (_moved(case, stored=stored) for case in _cases() for stored in (True, False))
    return tuple(moved for moved in found if moved is not None)


def _wrong(moved: Moved) -> Iterator[str]:
    """The elements of outputs that do not come from where routes say."""
    known = {float(x) for numbers in moved.numbers.values() for x in numbers.ravel()}
    assert moved.node.routes is not None
    for number, output in enumerate(
        moved.outputs[:1] if moved.operator == "Dropout" else moved.outputs
    ):
        routes = [x for x in moved.node.routes if x.output == number and x.input in moved.numbers]
        assert moved.node.outputs[number].sizes == output.shape
        for index, value in list(np.ndenumerate(output))[:: 1 + output.size // MOST]:
            places = [(x.input, at) for x in routes for at in origins(x, output.shape, index)]
            expected = {float(moved.numbers[i][at]) for i, at in places}
            holes = moved.operator in HOLES or not moved.exact
            fits = float(value) in expected or (
                float(value) not in known and (holes or not expected)
            )
            if not fits:
                yield f"{moved.name}: output {number} {index}"


def test_elements_come_from_where_routes_say() -> None:
    known = [moved for moved in _all_moved() if moved.node.routes is not None]
    assert [place for moved in known for place in _wrong(moved)] == []


def test_what_indices_decide() -> None:
    """Where indices are only known when the network runs, what they move depends on them."""
    seen = Counter[str]()
    for moved in _all_moved():
        if moved.operator in PLACING:
            seen[moved.operator] += sum(_decided(moved, i) for i in _indices(moved))
    assert seen.keys() == PLACING
    assert min(seen.values()) > 0


def _indices(moved: Moved) -> list[int]:
    """The inputs that say where elements are, unless they are stored in the model."""
    tensors = enumerate(moved.node.inputs)
    return [i for i, x in tensors if i not in moved.numbers and not x.constant]


def _decided(moved: Moved, position: int) -> bool:
    """Whether other indices change the output, and only where routes say."""
    case = node_cases()[moved.name]
    names = [tensor.name for tensor in moved.node.inputs]
    given = dict(case.inputs) | {names[i]: value for i, value in moved.numbers.items()}
    old = given[names[position]]
    given[names[position]] = np.roll(old.ravel(), 1).reshape(old.shape)
    changed = given[names[position]] != old
    (after,) = Runner(case.model)(given)
    routes = [x for x in moved.node.routes or () if x.input == position]
    different = list(zip(*np.nonzero(after != moved.outputs[0]), strict=True))
    for index in different:
        place = tuple(map(int, index))
        found = (x for route in routes for x in origins(route, after.shape, place))
        assert any(changed[x] for x in found), (moved.name, place)
    return bool(different)


def test_routes_are_exact_where_it_is_known_beforehand_how_data_moves() -> None:
    every = {moved.operator for moved in _all_moved()}
    exact = Counter(moved.operator for moved in _all_moved() if moved.exact)
    assert every - exact.keys() == BY_DATA
    assert exact.total() >= 225
    unknown = {moved.name for moved in _all_moved() if moved.node.routes is None}
    assert all(name.startswith(("test_compress", "test_maxunpool")) for name in unknown), unknown


def test_every_operator_that_moves_data_has_routes() -> None:
    containers = {name for name in MOVEMENT - ROUTES if "." not in name}
    assert all("Sequence" in name or "Optional" in name for name in containers)
    assert {name for name in MOVEMENT if "." in name} <= ROUTES


def test_routes_and_nests_fit_all_tensors() -> None:
    """In all networks of the onnx package, also within what array operators become."""
    for case in node_cases().values():
        try:
            nodes = parse_onnx(case.model).nodes
        except InputError:
            continue
        for node in nodes:
            if isinstance(node, NoCostNode):
                _check_routes(node)
            elif isinstance(node, VectorNode) and node.nest is not None:
                _check_nest(node, node.nest)


def _check_routes(node: NoCostNode) -> None:
    for route in node.routes or ():
        begin, end = node.outputs[route.output].sizes, node.inputs[route.input].sizes
        assert begin is not None
        assert route.input_sizes(begin) == end


def _check_nest(node: VectorNode, nest: VectorNest) -> None:
    loops = {loop.dimension: loop.size for loop in nest.loops}
    counts = (prod(loops[x] for x in axis.dimensions) for axis in nest.output)
    assert tuple(counts) == node.outputs[0].sizes
    for access, tensor in zip(nest.inputs, node.inputs, strict=True):
        assert access is None or len(access.axes) == len(tensor.sizes or ())


def test_what_is_joined_inside_of_an_operator() -> None:
    """A cache of batch, heads, length, size; behind it batch, length, and heads times size."""
    model = written(
        "float[1,2,12] q, float[1,2,12] k, float[1,2,12] v, float[1,3,5,4] c, float[1,3,5,4] d",
        "y, p, r = Attention <q_num_heads = 3, kv_num_heads = 3> (q, k, v, , c, d)",
        outputs="float[1,2,12] y, float[1,3,7,4] p, float[1,3,7,4] r",
    )
    joint = next(node for node in parse_onnx(model).nodes if isinstance(node, NoCostNode))
    assert joint.routes is not None
    past = np.arange(60).reshape(1, 3, 5, 4)
    new = 100 + np.arange(24).reshape(1, 2, 12)
    apart = new.reshape(1, 2, 3, 4).transpose(0, 2, 1, 3)
    whole = np.concatenate((past, apart), axis=2)
    tensors = (past, new)
    for index, value in np.ndenumerate(whole):
        (found,) = (
            tensors[r.input][i] for r in joint.routes for i in origins(r, whole.shape, index)
        )
        assert found == value
