"""Converts a PyTorch module into a workload, through PyTorch's own ONNX exporter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from nestmap.model import InputError, Workload
from nestmap.pipeline.util.extras import check_installed

if TYPE_CHECKING:
    import onnx

NEEDED: Final = ("torch", "onnxscript", "onnx_ir")
"""The packages that the extra ``torch`` installs."""

SMALL: Final = 1024
"""Stored tensors with more elements are not copied: the workload needs only their sizes."""


class _Type(Protocol):
    def numpy(self) -> np.dtype[np.generic]: ...


class _Shape(Protocol):
    def numpy(self) -> tuple[int, ...]: ...


class _Stored(Protocol):
    """A tensor in the exporter's graph."""

    dtype: _Type
    shape: _Shape
    size: int
    nbytes: int


class _Value(Protocol):
    name: str
    const_value: _Stored


class _Graph(Protocol):
    initializers: Mapping[str, _Value]


class _Model(Protocol):
    graph: _Graph


class _Program(Protocol):
    """The part of ``torch.onnx.ONNXProgram`` that is used here."""

    model: _Model

    def optimize(self) -> None: ...


class TorchModule(Protocol):
    """The part of ``torch.nn.Module`` that is used here, so that PyTorch's types are not needed."""

    training: bool

    def modules(self) -> Iterator[TorchModule]:
        """The module itself and all of its submodules."""
        ...


def from_torch(
    module: TorchModule,
    example_inputs: tuple[object, ...] | Mapping[str, object],
    *,
    name: str | None = None,
) -> Workload:
    """The workload of a PyTorch module in evaluation mode, for inputs of the given sizes.

    ``torch.export`` traces the module. Weights are neither copied nor required: a module created
    under ``torch.device("meta")`` has none, and its example inputs need no data either.

    Args:
        module: a ``torch.nn.Module``, left unchanged.
        example_inputs: the call's arguments, by position or by name. Only sizes and types matter.
        name: the name of the workload (default: the name of the module's class).

    Raises:
        InputError: if PyTorch or its exporter is missing, the module cannot be exported, or the
            exported model is invalid.
    """
    where = f"torch module {type(module).__name__!r}"
    check_installed(where, NEEDED, "torch")
    # onnx is slow to import; only commands that use it pay for it
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415

    with _evaluating(module):
        model = _exported(module, example_inputs, where)
    return parse_onnx(model, name=name or type(module).__name__)


@contextmanager
def _evaluating(module: TorchModule) -> Generator[None]:
    """Keeps the module and its submodules in evaluation mode within the block."""
    before = [(each, each.training) for each in module.modules()]
    try:
        for each, _ in before:
            each.training = False
        yield
    finally:
        for each, training in before:
            each.training = training


def _exported(
    module: TorchModule, given: tuple[object, ...] | Mapping[str, object], where: str
) -> onnx.ModelProto:
    args, kwargs = ((), dict(given)) if isinstance(given, Mapping) else (given, None)
    export = import_module("torch.onnx").export
    try:
        program: _Program = export(
            module, args, kwargs=kwargs, dynamo=True, verbose=False, optimize=False
        )
        # Optimizing folds constants, which must not touch large or missing weights.
        _replace_weights(program, _zeros)
        program.optimize()
        _replace_weights(program, _left_out)
        proto: onnx.ModelProto = import_module("onnx_ir").to_proto(program.model)
    except Exception as error:
        # The exporter runs the module's own code, which may raise anything.
        reason = _reason(error.__cause__ or error)
        raise InputError(where, reason, "a module that torch.onnx.export can export") from error
    return proto


def _replace_weights(program: _Program, instead: Callable[[str, _Stored], _Stored]) -> None:
    """Replaces large or missing weights by placeholders of the same sizes."""
    for value in program.model.graph.initializers.values():
        stored = value.const_value
        absent = bool(getattr(getattr(stored, "raw", None), "is_meta", False))
        if stored.size > SMALL or absent:
            value.const_value = instead(value.name, stored)


def _zeros(name: str, stored: _Stored) -> _Stored:
    """A tensor of zeros that takes the memory of one element."""
    zeros = np.broadcast_to(np.zeros((), stored.dtype.numpy()), stored.shape.numpy())
    made: _Stored = import_module("onnx_ir").Tensor(zeros, name=name)
    return made


def _left_out(name: str, stored: _Stored) -> _Stored:
    """A placeholder for a tensor whose data is in another file."""
    made: _Stored = import_module("onnx_ir").ExternalTensor(
        "left_out", 0, stored.nbytes, stored.dtype, shape=stored.shape, name=name, base_dir=""
    )
    return made


def _reason(error: BaseException) -> str:
    text, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[:300]}"
