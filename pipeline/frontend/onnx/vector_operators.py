"""The operators of a vector unit: the loops each runs through and what it does each time.

What counts as one operation: an addition, subtraction, multiplication or division; a comparison,
a selection, a maximum; rounding, a change of sign or of type; a function of one or two numbers
that hardware has an instruction or a table for (exp, log, sqrt, power, sine, tanh, erf, sigmoid).
What is put together from these is counted as its definition in the ONNX standard writes it, with
the maximum subtracted first where an exp is summed up. Only what is done for each iteration counts:
the one division, root or logarithm at the end of a row, a window or a channel does not, nor do
addresses, random numbers and moving data. Networks run, they are not trained: Dropout moves data,
and what BatchNormalization does is a product and a sum.

Iterations are the elements of the output for what is computed element by element, output times
kernel for windows, and the elements of the input for reductions, normalizations, scans, sorting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.model import Tensor, VectorNode
from nestmap.pipeline.frontend.onnx.access.vector_nests import nest_of
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.vector.elementwise import ELEMENTWISE
from nestmap.pipeline.frontend.onnx.vector.normalization import NORMALIZATIONS
from nestmap.pipeline.frontend.onnx.vector.operation_counts import Rule
from nestmap.pipeline.frontend.onnx.vector.pooling import POOLING
from nestmap.pipeline.frontend.onnx.vector.reduction import REDUCTIONS

VECTOR_OPERATORS: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE,
    **POOLING,
    **NORMALIZATIONS,
    **REDUCTIONS,
}
"""What is known of each vector operator's work."""


def vector_node(reader: NodeReader) -> VectorNode | None:
    """The node of a vector operator.

    ``None`` if it is none, if its tensors' sizes are not all known, or if there is nothing to do
    when the network runs: no elements, or nothing but constants to compute with.

    Raises:
        InputError: where attributes do not fit.
    """
    operator = reader.node.operator
    if operator not in VECTOR_OPERATORS:
        return None
    inputs, outputs = _read(reader), reader.outputs
    if not outputs or all(tensor.constant for tensor in inputs):
        return None
    if any(tensor.sizes is None for tensor in (*inputs, *outputs)):
        return None
    work = VECTOR_OPERATORS[operator](reader)
    if 0 in work.iterations:
        return None
    return VectorNode(
        name=reader.node.name,
        operator=operator,
        sources=reader.sources,
        iterations=work.iterations,
        operations=work.operations,
        inputs=inputs,
        outputs=outputs,
        nest=nest_of(reader, inputs),
    )


def _read(reader: NodeReader) -> tuple[Tensor, ...]:
    """The inputs but for that from which CastLike takes no more than the type."""
    return reader.inputs[:1] if reader.node.operator == "CastLike" else reader.inputs
