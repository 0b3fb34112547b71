"""Turns a PyTorch module into a workload, by way of PyTorch's own ONNX exporter."""

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
"""What the extra ``torch`` installs."""

SMALL: Final = 1024
"""Stored tensors of more elements stay where they are: the workload needs their sizes only."""


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
    """What is used of a ``torch.onnx.ONNXProgram``."""

    model: _Model

    def optimize(self) -> None: ...


class TorchModule(Protocol):
    """What is used of a ``torch.nn.Module``; nothing here needs PyTorch's types."""

    training: bool

    def modules(self) -> Iterator[TorchModule]:
        """The module itself and all in it."""
        ...


def from_torch(
    module: TorchModule,
    example_inputs: tuple[object, ...] | Mapping[str, object],
    *,
    name: str | None = None,
) -> Workload:
    """The workload of a PyTorch module, as it runs (in evaluation mode) on inputs of these sizes.

    ``torch.export`` traces the module. Weights are not copied, and need not be there: a module
    that was made under ``torch.device("meta")`` has none, nor do its example inputs.

    Args:
        module: a ``torch.nn.Module``; it is not changed.
        example_inputs: what it is called with, by position or by name. Only sizes and types count.
        name: the name of the workload; by default that of the module's class.

    Raises:
        InputError: where PyTorch or its exporter is missing or cannot export the module, or where
            the exported model is wrong.
    """
    where = f"torch module {type(module).__name__!r}"
    check_installed(where, NEEDED, "torch")
    # onnx takes long to import, and only those who use it shall wait
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415

    with _evaluating(module):
        model = _exported(module, example_inputs, where)
    return parse_onnx(model, name=name or type(module).__name__)


@contextmanager
def _evaluating(module: TorchModule) -> Generator[None]:
    """Lets the module and all in it be in evaluation mode for a while."""
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
        # Optimizing folds constants, which must not compute with large weights or missing ones.
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
    """Has something of the same sizes instead of weights."""
    for value in program.model.graph.initializers.values():
        stored = value.const_value
        absent = bool(getattr(getattr(stored, "raw", None), "is_meta", False))
        if stored.size > SMALL or absent:
            value.const_value = instead(value.name, stored)


def _zeros(name: str, stored: _Stored) -> _Stored:
    """As many zeros, which take the room of one."""
    zeros = np.broadcast_to(np.zeros((), stored.dtype.numpy()), stored.shape.numpy())
    made: _Stored = import_module("onnx_ir").Tensor(zeros, name=name)
    return made


def _left_out(name: str, stored: _Stored) -> _Stored:
    """What stands for a tensor whose data is in another file."""
    made: _Stored = import_module("onnx_ir").ExternalTensor(
        "left_out", 0, stored.nbytes, stored.dtype, shape=stored.shape, name=name, base_dir=""
    )
    return made


def _reason(error: BaseException) -> str:
    text, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[:300]}"
