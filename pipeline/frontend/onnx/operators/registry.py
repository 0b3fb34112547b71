"""Lists the ONNX operators that the operational array computes, with their converters."""

from collections.abc import Callable, Mapping
from typing import Final

from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.attention import (
    attention,
    decoder_attention,
    flex_attention,
    group_query_attention,
    multi_head_attention,
    paged_attention,
    projected_attention,
    quantized_attention,
)
from nestmap.pipeline.frontend.onnx.operators.conv import (
    causal_conv,
    conv,
    conv_channels_last,
    deform_conv,
    qlinear_conv,
)
from nestmap.pipeline.frontend.onnx.operators.einsum import einsum
from nestmap.pipeline.frontend.onnx.operators.experts import mixture_of_experts
from nestmap.pipeline.frontend.onnx.operators.linear_attention import linear_attention
from nestmap.pipeline.frontend.onnx.operators.matrix import (
    MatrixPositions,
    fused_matmul,
    gemm,
    matmul,
    matmul_nbits,
)
from nestmap.pipeline.frontend.onnx.operators.recurrent import (
    CELLS,
    dynamic_quantize_lstm,
    recurrent,
)
from nestmap.pipeline.frontend.onnx.operators.transposed import conv_transpose

Converter = Callable[[NodeReader], tuple[Node, ...]]
"""Converts an ONNX node to nodes of the workload; the last one computes its outputs."""


def _at(
    form: Callable[[NodeReader, MatrixPositions], tuple[Node, ...]], places: MatrixPositions
) -> Converter:
    """The converter of a product whose matrices are quantized or not the first two inputs."""
    return lambda reader: form(reader, places)


ARRAY_OPERATORS: Final[Mapping[str, Converter]] = {
    "Conv": conv,
    "ConvInteger": conv,
    **dict.fromkeys(("com.microsoft.FusedConv", f"{BLOCKED}.Conv"), conv),
    "com.microsoft.NhwcFusedConv": conv_channels_last,
    f"{CHANNELS_LAST}.Conv": conv_channels_last,
    "QLinearConv": qlinear_conv,
    "com.microsoft.QLinearConv": qlinear_conv,
    f"{CHANNELS_LAST}.QLinearConv": qlinear_conv,
    **dict.fromkeys(("CausalConvWithState", "com.microsoft.CausalConvWithState"), causal_conv),
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "Gemm": gemm,
    "com.microsoft.FusedGemm": gemm,
    "com.microsoft.QGemm": _at(gemm, MatrixPositions(0, 3)),
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "com.microsoft.MatMulIntegerToFloat": matmul,
    "QLinearMatMul": _at(matmul, MatrixPositions(0, 3)),
    "com.microsoft.DynamicQuantizeMatMul": _at(matmul, MatrixPositions(left_bits=8)),
    "com.microsoft.FusedMatMul": fused_matmul,
    "com.microsoft.GemmFastGelu": matmul,
    **dict.fromkeys(("com.microsoft.MatMulNBits", "com.microsoft.MatMulBnb4"), matmul_nbits),
    "Einsum": einsum,
    "Attention": attention,
    "ai.onnx.preview.FlexAttention": flex_attention,
    "LinearAttention": linear_attention,
    "com.microsoft.Attention": projected_attention,
    "com.microsoft.QAttention": quantized_attention,
    **dict.fromkeys(("com.microsoft.MoE", "com.microsoft.QMoE"), mixture_of_experts),
    "com.microsoft.MultiHeadAttention": multi_head_attention,
    "com.microsoft.DecoderMaskedMultiHeadAttention": decoder_attention,
    "com.microsoft.GroupQueryAttention": group_query_attention,
    "com.microsoft.SparseAttention": group_query_attention,
    "com.microsoft.PagedAttention": paged_attention,
    **dict.fromkeys(CELLS, recurrent),
    "com.microsoft.DynamicQuantizeLSTM": dynamic_quantize_lstm,
}
