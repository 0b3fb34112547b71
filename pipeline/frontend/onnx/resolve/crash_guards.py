"""Finds nodes on which inference of a whole graph crashes the onnx library."""

from __future__ import annotations

from typing import Final

import onnx

from nestmap.pipeline.frontend.onnx.load.crashing_nodes import is_safe_alone
from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes, subgraphs

_CHECKED: Final = frozenset({"EyeLike", "RegexFullMatch", "GatherND", "Slice"})


def is_safe_in_graph(node: onnx.NodeProto) -> bool:
    """Whether inference of a whole graph handles the node, whatever its inputs are.

    Only the inference of a single node includes the library's own checks. Without them, operators
    outside the standard domain and some inside it crash the library if their inputs are unknown or
    a size is negative.
    """
    inside = [inner for body in subgraphs(node) for inner in all_nodes(body)]
    return not any(
        part.domain or part.op_type in _CHECKED or not is_safe_alone(part)
        for part in (node, *inside)
    )
