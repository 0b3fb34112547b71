"""The operator types that files may name, even if a network has none of them."""

from typing import Final

_ONNX: Final = """
    Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool
    BatchNormalization Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast
    CastLike CausalConvWithState Ceil Celu Clip Col2Im Conv ConvInteger ConvTranspose Cos Cosh
    CumProd CumSum DFT DeformConv DequantizeLinear Det Div DynamicQuantizeLinear Einsum Elu
    Equal Erf Exp Floor GRU Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
    GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Hardmax
    InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual
    LinearAttention Log LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool
    MaxRoiPool Mean MeanVarianceNormalization Min Mish Mod Mul Multinomial Neg
    NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not Or PRelu Pow QLinearConv
    QLinearMatMul QuantizeLinear RMSNormalization RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum
    ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu
    Resize RoiAlign RotaryEmbedding Round STFT Selu Shrink Sigmoid Sign
    SimplifiedLayerNormalization Sin Sinh Softmax SoftmaxCrossEntropyLoss Softplus Softsign Sqrt
    Sub Sum SwiGLU Swish Tan Tanh ThresholdedRelu TopK Unique Upsample Where Xor
"""
"""The ONNX operators that an array or a vector unit computes."""

_FAMILIES: Final = """
    Conv_downsample FusedConv FusedMatMul MatMulNBits Pool Pooling QGemm Silu pooling simd
"""
"""Short names of ONNX Runtime's operators, and the families of ZigZag's and Stream's files."""

_WITHOUT_PRODUCTS: Final = """
    Abs ArgMax ArgMin Cast Ceil Clip Exp Floor GlobalMaxPool Hardmax LogSoftmax MaxPool MaxRoiPool
    Neg Not ReduceMax ReduceMin Relu Round Sigmoid Sign Softmax Sqrt Tanh TopK
"""
"""Operators of one tensor; ZigZag writes those of two, such as Add, as products."""

_TYPES: Final = frozenset((*_ONNX.split(), *_FAMILIES.split()))


def operator_types() -> tuple[str, ...]:
    """The known operator types of ONNX's own domain, in alphabetical order."""
    return tuple(sorted(_TYPES))


def is_operator_type(name: str) -> bool:
    """Whether an operator type is known; all those of other domains (with a point) are."""
    return name in _TYPES or "." in name


def has_products(name: str) -> bool:
    """Whether an operator type may multiply two tensors, as far as it is known."""
    return name not in _WITHOUT_PRODUCTS.split()
