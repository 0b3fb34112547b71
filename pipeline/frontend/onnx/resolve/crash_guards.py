"""Which nodes the onnx library can be given: it crashes on some instead of refusing them."""

from __future__ import annotations

from typing import Final

import onnx

from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes, subgraphs

_LIMIT: Final = 2**31
_CHECKED: Final = frozenset({"EyeLike", "RegexFullMatch", "GatherND"})


def is_robust(node: onnx.NodeProto) -> bool:
    """Whether inference of a whole graph takes the node, whatever it reads.

    The library's own checks come with inference of a single node only. Without them operators
    outside the standard domain, and some in it, crash it where nothing is known of what they read,
    or where a size comes out negative.
    """
    inside = [inner for body in subgraphs(node) for inner in all_nodes(body)]
    return not any(
        part.domain or part.op_type in _CHECKED or not is_safe(part) for part in (node, *inside)
    )


def is_safe(node: onnx.NodeProto) -> bool:
    """Whether inference takes the node by itself.

    Not a number that it cuts to 32 bits unseen, a Split into other than its outputs, or a GatherND
    whose batch axes are less than none.
    """
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "Split" and "num_outputs" in numbers:
        return numbers["num_outputs"] == len(node.output)
    if node.op_type == "GatherND" and numbers.get("batch_dims", 0) < 0:
        return False
    return all(-_LIMIT <= number < _LIMIT for number in numbers.values())
