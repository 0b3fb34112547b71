"""The operator types that files may name are those that the ONNX front end knows."""

from nestmap.model.workload.operator_types import is_operator_type, operator_types
from nestmap.pipeline.frontend.onnx.operators.convert import VECTOR_OPERATORS
from nestmap.pipeline.frontend.onnx.operators.registry import ARRAY_OPERATORS


def test_every_operator_with_a_rule_is_known() -> None:
    assert not [x for x in (*ARRAY_OPERATORS, *VECTOR_OPERATORS) if not is_operator_type(x)]


def test_every_known_type_has_a_rule_or_is_a_family() -> None:
    rules = {x.rpartition(".")[2] for x in (*ARRAY_OPERATORS, *VECTOR_OPERATORS)}
    families = {"Conv_downsample", "Pool", "Pooling", "Silu", "pooling", "simd"}
    assert set(operator_types()) - rules == families
