"""Checks the equations of Einsum nodes before shape inference.

The shape inference of the onnx package (1.23) never terminates on some invalid equations.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import onnx

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode

DOTS: Final = "..."
EXPECTED: Final = "letters and dots, such as bij,bjk->bik"


def terms_of(equation: str) -> tuple[tuple[str, ...], str | None] | None:
    """The terms of inputs and output (``None``: not stated); ``None`` if invalid."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = (*left.split(","), right)
    letters = (term.replace(DOTS, "", 1) for term in terms)
    if any(x and not (x.isascii() and x.isalpha()) for x in letters):
        return None
    return terms[:-1], right if arrow else None


def check_equations(nodes: Iterable[GraphNode], where: str) -> None:
    """Checks all equations, including those in subgraphs.

    Args:
        nodes: the nodes of the graph.
        where: the model, for messages.

    Raises:
        InputError: if an equation is invalid.
    """
    for node in nodes:
        for equation in _equations(node.proto):
            if terms_of(equation) is None:
                raise InputError(f"{where}: {node}", f"equation {equation!r}", EXPECTED)


def _equations(proto: onnx.NodeProto) -> Iterator[str]:
    for attribute in proto.attribute:
        if proto.op_type == "Einsum" and attribute.name == "equation":
            yield attribute.s.decode(errors="replace")
        graphs = [attribute.g] if attribute.HasField("g") else []
        for graph in (*graphs, *attribute.graphs):
            for inner in graph.node:
                yield from _equations(inner)
