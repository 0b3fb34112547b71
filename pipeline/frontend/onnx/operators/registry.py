"""All ONNX operators that nestmap knows, with their records."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from nestmap.pipeline.frontend.onnx.operators.attention import ATTENTIONS
from nestmap.pipeline.frontend.onnx.operators.conv import CONVOLUTIONS
from nestmap.pipeline.frontend.onnx.operators.einsum import EINSUM
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE, GRADIENTS
from nestmap.pipeline.frontend.onnx.operators.experts import EXPERTS
from nestmap.pipeline.frontend.onnx.operators.indexing import INDEXING
from nestmap.pipeline.frontend.onnx.operators.linear_attention import LINEAR_ATTENTION
from nestmap.pipeline.frontend.onnx.operators.matrix import MATRIX_PRODUCTS
from nestmap.pipeline.frontend.onnx.operators.movement import MOVEMENT
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Movement, Operator, Vector
from nestmap.pipeline.frontend.onnx.operators.recurrent import RECURRENT
from nestmap.pipeline.frontend.onnx.operators.rows import NORMALIZATIONS, REDUCTIONS
from nestmap.pipeline.frontend.onnx.operators.transposed import TRANSPOSED
from nestmap.pipeline.frontend.onnx.operators.windows import WINDOWS

OPERATORS: Final[Mapping[str, Operator]] = {
    **CONVOLUTIONS,
    **TRANSPOSED,
    **MATRIX_PRODUCTS,
    **EINSUM,
    **ATTENTIONS,
    **LINEAR_ATTENTION,
    **EXPERTS,
    **RECURRENT,
    **ELEMENTWISE,
    **GRADIENTS,
    **NORMALIZATIONS,
    **REDUCTIONS,
    **WINDOWS,
    **MOVEMENT,
    **INDEXING,
}
"""The operators by type, with the domain if not in the ONNX standard: ``com.microsoft.Gelu``.

``If``, ``Loop`` and ``Scan`` are none of them: the nodes that they run take their place.
"""

_UNKNOWN: Final = Operator()


def operator_of(name: str) -> Operator:
    """The record of an operator type; one that says nothing if nestmap does not know the type."""
    return OPERATORS.get(name, _UNKNOWN)


@cache
def operators_that_become(kind: type[Layers | Vector | Movement]) -> frozenset[str]:
    """The operators that become layers, vector work or data movement."""
    return frozenset(name for name, x in OPERATORS.items() if isinstance(x.becomes, kind))
