"""Routes of data movement as one reads them: step by step from an output back to an input."""

from dataclasses import dataclass
from typing import final

import pytest

from nestmap.model import NoCostNode
from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    AnyElement,
    AnyIndex,
    Gather,
    Permute,
    Repeat,
    Reshape,
    Shift,
)
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written


@final
@dataclass(frozen=True)
class Case:
    """A node of data movement, and its routes as text."""

    inputs: str
    node: str
    routes: tuple[str, ...]
    stored: str = ""
    outputs: str = "y"


X = "float[2,3,4] x"
CASES = {
    "nothing": Case(X, "y = Identity (x)", ("0<0",)),
    "shape": Case(X, "y = Flatten (x)", ("0<0 (2,3,4)",)),
    "a shape that comes late": Case(
        f"{X}, int64[2] s", "y = Reshape (x, s)", ("0<0 (2,3,4)",), outputs="float[6,4] y"
    ),
    "order": Case(X, "y = Transpose <perm = [2,0,1]> (x)", ("0<0 perm(1,2,0)",)),
    "the same order": Case(X, "y = Transpose <perm = [0,1,2]> (x)", ("0<0",)),
    "twice": Case(X, "y = Concat <axis = 1> (x, x)", ("0<0 1:+0*1/3", "0<0 1:-3*1/3")),
    "parts": Case(
        X, "y, z = Split <axis = 2> (x, s)", ("0<0 2:+0*1/4", "1<0 2:+1*1/4"), "int64[2] s = {1, 3}"
    ),
    "the second part": Case(
        X,
        "_, z = Split <axis = 2> (x, s)",
        ("0<0 2:+0*1/4", "1<0 2:+1*1/4"),
        "int64[2] s = {1, 3}",
        "z",
    ),
    "backwards": Case(
        X,
        "y = Slice (x, a, b, c, d)",
        ("0<0 2:+3*-2/4",),
        "int64[1] a = {-1}, int64[1] b = {-100}, int64[1] c = {2}, int64[1] d = {-2}",
    ),
    "a slice from anywhere": Case(
        f"{X}, int64[1] a, int64[1] b",
        "y = Slice (x, a, b)",
        ("0<1 any(1)", "0<2 any(1)", "0<0 0:any/2"),
        outputs="float[1,3,4] y",
    ),
    "padded": Case(X, "y = Pad (x, p)", ("0<0 1:-1*1/3 2:-2*1/4",), "int64[6] p = {0,1,2,0,0,1}"),
    "padded along axes": Case(
        X, "y = Pad (x, p, , a)", ("0<0 2:-1*1/4",), "int64[2] p = {1, 2}, int64[1] a = {-1}"
    ),
    "mirrored": Case(
        X,
        'y = Pad <mode = "reflect"> (x, p)',
        ("0<0 2:[2,1,0,1,2,3,2]/4",),
        "int64[6] p = {0,0,2,0,0,1}",
    ),
    "repeated": Case(X, "y = Tile (x, s)", ("0<0 1:%3",), "int64[3] s = {1, 3, 1}"),
    "a new axis": Case(X, "y = Expand (x, s)", ("0<0 0:%1 (2,3,4)",), "int64[4] s = {5, 1, 1, 1}"),
    "picked": Case(
        X, "y = Gather <axis = 1> (x, s)", ("0<0 1:[0,2,2]/3",), "int64[3] s = {0, -1, 2}"
    ),
    "picked one": Case(
        X, "y = Gather <axis = 1> (x, s)", ("0<0 (2,1,4) 1:[1]/3",), "int64 s = {1}"
    ),
    "picked by data": Case(
        f"{X}, int64[5] s", "y = Gather <axis = 1> (x, s)", ("0<0 1:any/3", "0<1 0:%1 2:%1 (5)")
    ),
    "a table": Case(
        "int64[2,5] t",
        "y = Gather (w, t)",
        ("0<0 (10,4) 0:any/3", "0<1 2:%1 (2,5)"),
        "float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}",
    ),
    "made of nothing": Case(X, "y = Shape (x)", ()),
    "drawn": Case(X, "y = RandomNormalLike (x)", ()),
    "one or another": Case(
        "int64[2] x",
        "y = OneHot (x, d, v)",
        ("0<0 1:%1 (2)",),
        "int64 d = {3}, float[2] v = {0, 1}",
    ),
    "counted": Case(
        "float[2,3,4] x, int64 a, int64 b, int64 c",
        "y = Range (a, b, c)",
        ("0<0 any()", "0<1 any()", "0<2 any()"),
        outputs="int64[4] y",
    ),
    "in another order": Case(X, 'y = Einsum <equation = "abc->cab"> (x)', ("0<0 perm(1,2,0)",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_steps(case: Case) -> None:
    model = written(case.inputs, case.node, stored=case.stored, outputs=case.outputs)
    (node,) = parse_onnx(model).nodes
    assert isinstance(node, NoCostNode)
    assert node.routes is not None
    assert tuple(map(_text, node.routes)) == case.routes


def _text(route: AccessRoute) -> str:
    return " ".join((f"{route.output}<{route.input}", *map(_step, route.steps)))


def _step(step: AccessStep) -> str:
    match step:
        case Reshape():
            return _sizes(step.sizes)
        case Permute():
            return f"perm{_sizes(step.axes)}"
        case AnyElement():
            return f"any{_sizes(step.sizes)}"
        case _:
            return f"{step.axis}:{_along(step)}{step.size}"


def _along(step: Shift | Repeat | Gather | AnyIndex) -> str:
    match step:
        case Shift():
            return f"{step.start:+}*{step.step}/"
        case Repeat():
            return "%"
        case Gather():
            return f"[{','.join(map(str, step.indices))}]/"
        case AnyIndex():
            return "any/"


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"({','.join(map(str, sizes))})"


def test_what_is_computed_beforehand_comes_from_nowhere() -> None:
    nodes = "s = Shape (x) t = Gather (s, i) y = Add (x, z) n = Reshape (y, u)"
    stored = "int64 i = {1}, float z = {1}, int64[1] u = {-1}"
    network = parse_onnx(written(X, nodes, stored=stored, outputs="n, t"))
    found = {node.operator: node.routes for node in network.nodes if isinstance(node, NoCostNode)}
    assert (found["Shape"], found["Gather"]) == ((), ())
    assert found["Reshape"] != ()


def test_where_the_operator_is_not_known_elements_come_from_anywhere() -> None:
    (made,) = parse_onnx(written(X, "y = com.acme.Move (x)", outputs="float[2,3,4] y")).nodes
    assert isinstance(made, NoCostNode)
    assert made.routes is None


def test_where_sizes_are_not_known_elements_come_from_anywhere() -> None:
    (made,) = parse_onnx(written("float[N,4] x", "y = Flatten (x)")).nodes
    assert isinstance(made, NoCostNode)
    assert made.routes is None
