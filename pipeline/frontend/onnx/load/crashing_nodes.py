"""Finds nodes on which the onnx library crashes instead of rejecting them."""

from __future__ import annotations

from typing import Final

import onnx

_LIMIT: Final = 2**31


def is_safe_alone(node: onnx.NodeProto) -> bool:
    """Whether inference handles the node on its own.

    It fails on integers that it silently truncates to 32 bits, on a Split into a number of parts
    other than its outputs, and on a GatherND with a negative number of batch axes.
    """
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "Split" and "num_outputs" in numbers:
        return numbers["num_outputs"] == len(node.output)
    if node.op_type == "GatherND" and numbers.get("batch_dims", 0) < 0:
        return False
    return all(-_LIMIT <= number < _LIMIT for number in numbers.values())
