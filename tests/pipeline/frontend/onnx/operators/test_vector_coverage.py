"""Every operator of the ONNX standard is known, and known as one thing."""

from collections import Counter

from onnx import defs

from nestmap.pipeline.frontend.onnx.node.movement import MOVEMENT_OPERATORS
from nestmap.pipeline.frontend.onnx.operators.convert import VECTOR_OPERATORS
from nestmap.pipeline.frontend.onnx.operators.registry import ARRAY_OPERATORS

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


def test_every_standard_operator_is_known_once() -> None:
    schemas = defs.get_all_schemas_with_history()
    standard = {schema.name for schema in schemas if schema.domain == ""}
    assert len(standard) >= 203
    groups = (ARRAY_OPERATORS, VECTOR_OPERATORS, MOVEMENT_OPERATORS, CONTROL_FLOW, NOT_KNOWN)
    counts = Counter(name for group in groups for name in group)
    assert [name for name, count in counts.items() if count > 1] == []
    known = {name for name in counts if "." not in name}
    assert known - OF_RUNTIMES == standard
