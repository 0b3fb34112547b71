"""Every record says what each step of the front end needs, and all standard operators have one."""

import pytest
from onnx import defs

from nestmap.model.workload.operator_types import is_operator_type, operator_types
from nestmap.pipeline.frontend.onnx.operators.elementwise import GRADIENTS
from nestmap.pipeline.frontend.onnx.operators.record import Bits, Folding, Layers, Movement, Vector
from nestmap.pipeline.frontend.onnx.operators.registry import OPERATORS, operators_that_become

CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
"""What they do is in their bodies."""

NOT_KNOWN = {
    "ImageDecoder",  # decompresses files
    *("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"),  # text
    "TfIdfVectorizer",  # counts sequences of words
}
"""No work for an accelerator."""

OF_RUNTIMES = {"SimplifiedLayerNormalization"}
"""ONNX Runtime writes it as if it were in the standard."""

STANDARD = {x.name for x in defs.get_all_schemas_with_history() if x.domain == ""}

SIZES_NOT_INFERRED = {
    "com.microsoft.Unique",  # the data decide
    *("com.microsoft.ExpandDims", "com.microsoft.nchwc.Upsample"),  # an input decides
    *("com.microsoft.CausalConvWithState", "com.microsoft.DynamicQuantizeLSTM"),
}
"""Operators of runtimes whose outputs have the sizes that a model states."""

COMPUTED = operators_that_become(Layers) | operators_that_become(Vector)


def test_every_standard_operator_has_a_record() -> None:
    assert len(STANDARD) >= 203
    assert not OPERATORS.keys() & (CONTROL_FLOW | NOT_KNOWN)
    named = {name for name in OPERATORS if "." not in name}
    assert named - OF_RUNTIMES == STANDARD - CONTROL_FLOW - NOT_KNOWN


@pytest.mark.parametrize("name", OPERATORS)
def test_a_record_says_what_every_step_needs(name: str) -> None:
    operator = OPERATORS[name]
    is_standard = name in STANDARD or name.startswith("ai.onnx.")
    assert operator.becomes is not None or name in GRADIENTS
    # The package evaluates, and infers the sizes of, operators of the standard alone.
    assert is_standard or (operator.folds is None and operator.sizes_from is None)
    assert is_standard or (operator.shapes is None) == (name in SIZES_NOT_INFERRED)
    # What decides the bits of tensors, or repeats their values, is no layer.
    if operator.bits is not Bits.OF_TYPE:
        assert isinstance(operator.becomes, Vector)
    if operator.joins or operator.folds is Folding.SIZES:
        assert isinstance(operator.becomes, Movement)
    assert operator.repeats is None or not isinstance(operator.becomes, Layers)


def test_files_may_name_every_operator_that_computes() -> None:
    assert not [name for name in COMPUTED if not is_operator_type(name)]


def test_every_known_type_has_a_record_or_is_a_family() -> None:
    families = {"Conv_downsample", "Pool", "Pooling", "Silu", "pooling", "simd"}
    assert set(operator_types()) - {x.rpartition(".")[2] for x in COMPUTED} == families
