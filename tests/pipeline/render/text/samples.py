"""A small workload with a node of each kind, and networks of unusual content."""

from typing import Final

from nestmap.model import (
    Layer,
    LayerNode,
    NoCostNode,
    Tensor,
    VectorNode,
    Workload,
    layer_from_equation,
)


def conv(name: str, k: int = 16, source: str | None = None) -> Layer:
    """A pointwise convolution of 8 x 8 x 32 elements of 8 bit by weights of 4 bit."""
    return layer_from_equation(
        "O[k][oy][ox]+=W[k][c]*I[c][oy][ox]",
        {"K": k, "C": 32, "OY": 8, "OX": 8},
        name=name,
        operator="Conv",
        precision={"W": 4, "I": 8, "O": 8},
        partial_precision=16,
        constants=("W",),
        sources={} if source is None else {"I": source},
    )


def tensor(name: str, *sizes: int, constant: bool = False) -> Tensor:
    """One of 8 bit an element."""
    return Tensor(name=name, sizes=sizes, precision=8, constant=constant)


def relu(name: str, source: str) -> VectorNode:
    """Over 16 x 8 x 8 elements."""
    return VectorNode(
        name=name,
        operator="Relu",
        sources=(source,),
        iterations=(16, 8, 8),
        inputs=(tensor(f"{name}.in", 16, 8, 8),),
        outputs=(tensor(f"{name}.out", 16, 8, 8),),
    )


MIXED: Final = Workload.of(
    conv("first"),
    relu("act", "first"),
    LayerNode(layer=conv("second", source="act"), outputs=(tensor("t", 1, 16, 8, 8),)),
    conv("third", k=48, source="act"),
    NoCostNode(name="join", operator="Concat", sources=("second", "third")),
    NoCostNode(name="odd", operator="acme.Magic", sources=("join",), known=False),
    name="mixed",
)
"""Two layers of the same content, a third one, and an operator of each other kind."""

EMPTY: Final = Workload(name="nothing", nodes=())
VECTOR_ONLY: Final = Workload.of(
    NoCostNode(name="in", operator="Reshape"), relu("act", "in"), name="vector"
)
