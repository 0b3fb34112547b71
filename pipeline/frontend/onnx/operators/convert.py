"""Lists the ONNX operators that the vector unit computes, with their operation counts.

One operation is an addition, subtraction, multiplication or division; a comparison, selection or
maximum; rounding, a change of sign or of type; or a function of one or two numbers for which
hardware has an instruction or a table (exp, log, sqrt, power, sine, tanh, erf, sigmoid). A
composite operator is counted as its definition in the ONNX standard, with the maximum subtracted
before a sum of exponentials. Only operations of each iteration count: the single division, root or
logarithm at the end of a row, window or channel does not, nor do addresses, random numbers and data
movement. Networks are in inference mode: Dropout moves data, and BatchNormalization is a product
and a sum.

The iterations of an elementwise operator are the elements of its output, those of a window operator
output times kernel, and those of reductions, normalizations, scans and sorting the elements of the
input.
"""

from collections.abc import Mapping
from typing import Final

from nestmap.model import Tensor, VectorNode
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE
from nestmap.pipeline.frontend.onnx.operators.pooling import POOLING, REDUCTIONS
from nestmap.pipeline.frontend.onnx.operators.vector_nests import nest_of
from nestmap.pipeline.frontend.onnx.operators.work import NORMALIZATIONS, Rule

VECTOR_OPERATORS: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE,
    **POOLING,
    **NORMALIZATIONS,
    **REDUCTIONS,
}
"""The rule that counts the iterations and operations of each vector operator."""


def vector_node(reader: NodeReader) -> VectorNode | None:
    """Converts a vector operator to a node of the workload.

    ``None`` if the node is not a vector operator, if a tensor has an unknown size, or if nothing is
    computed when the network runs: there are no elements, or all inputs are constants.

    Raises:
        InputError: if attributes are invalid.
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
    """The inputs that are read; CastLike uses only the type of its second one."""
    return reader.inputs[:1] if reader.node.operator == "CastLike" else reader.inputs
