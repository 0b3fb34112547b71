"""Compiles kernels with Numba to machine code that is called without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol, cast

import numba
from llvmlite import binding, ir
from numba.core import compiler_machinery, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NativeLowering

from nestmap.costmodel.kernel.entry_code import ALLOCATOR, add_entry
from nestmap.costmodel.kernel.machine_code import MachineCode
from nestmap.costmodel.kernel.results import ArrayResult, Result, ScalarResult, TupleResult

Compiled = Callable[..., object]
"""A function that Numba has compiled for the kernels that call it."""


def callee(function: Callable[..., object], is_inlined: bool) -> Compiled:
    """The function, compiled for the kernels that call it; Python cannot call it.

    Callees are neither translated to machine code nor optimized beyond single functions: entries
    contain the code of all their callees, and are optimized as a whole.
    """
    made = numba.njit(
        nogil=True, error_model="numpy", forceinline=is_inlined, pipeline_class=_CalleeCompiler
    )(function)
    return cast(Compiled, made)


def type_of_callee(made: Compiled) -> object:
    """Numba's type of a callee, which it does not keep alive."""
    return types.Dispatcher(cast("Dispatcher[Compiled]", made))


def compile_entry(made: Compiled, arguments: tuple[object, ...]) -> MachineCode:
    """Machine code of a callee and all that it calls, for arguments such as these."""
    dispatcher = cast(_Dispatcher, made)
    kinds = tuple(_typeof(x) for x in arguments)
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    with global_compiler_lock:
        image = _link(compiled)
    return MachineCode(image, _result_kind(compiled.fndesc.restype))


def _link(compiled: _Overload) -> bytes:
    """An object file of a function with all that it calls, and what calls it."""
    context, function = compiled.target_context, compiled.fndesc
    library = _new_entry_library(context.codegen(), function.llvm_func_name)
    module = library.create_ir_module(function.llvm_func_name)
    layout = context.call_conv.get_function_type(function.restype, function.argtypes)
    add_entry(module, layout, function.llvm_func_name)
    library.add_ir_module(module)
    library.add_llvm_module(binding.parse_assembly(ALLOCATOR))
    library.add_linking_library(compiled.library)
    library.finalize()
    return library.emit_object()


def _result_kind(kind: object) -> Result:
    """What the words of a result of a Numba type stand for."""
    match kind:
        case types.Array():
            array = cast(_ArrayType, kind)
            return ArrayResult(array.dtype.name, array.ndim)
        case types.BaseNamedTuple():
            made = cast(_NamedTupleType, kind)
            name = f"{made.instance_class.__module__}:{made.instance_class.__qualname__}"
            return TupleResult(name, tuple(_result_kind(x) for x in made))
        case types.BaseTuple():
            return TupleResult("", tuple(_result_kind(x) for x in cast(Iterable[object], kind)))
        case _:
            return ScalarResult(_LETTERS[str(kind)])


_LETTERS: Final = {"int64": "q", "float64": "d", "bool": "?", "none": "x"}


class _ArrayType(Protocol):
    dtype: _Named
    ndim: int


class _Named(Protocol):
    name: str


class _NamedTupleType(Protocol):
    instance_class: type[object]

    def __iter__(self) -> Iterator[object]: ...


class _Function(Protocol):
    """What Numba says of a compiled function."""

    llvm_func_name: str
    restype: object
    argtypes: tuple[object, ...]


class _CallConvention(Protocol):
    def get_function_type(
        self, restype: object, argtypes: tuple[object, ...]
    ) -> ir.FunctionType: ...


class _TargetContext(Protocol):
    call_conv: _CallConvention

    def codegen(self) -> object: ...
    def insert_user_function(
        self, func: object, fndesc: object, libs: list[_CalleeLibrary]
    ) -> None: ...


class _Overload(Protocol):
    """A function compiled for arguments of certain types."""

    fndesc: _Function
    library: _CalleeLibrary
    target_context: _TargetContext


class _Dispatcher(Protocol):
    """A function and what was compiled of it, by the types of arguments."""

    overloads: dict[tuple[object, ...], _Overload]

    def compile(self, sig: tuple[object, ...]) -> object: ...


class _CalleeLibrary(JITCodeLibrary):
    """LLVM code that is linked into that of callers only."""

    def _optimize_final_module(self) -> None:
        """Leaves it to the entry."""

    def _finalize_final_module(self) -> None:
        """Does not hand the code to the execution engine, which would translate it."""
        self._finalized = True


class _EntryLibrary(JITCodeLibrary):
    """LLVM code that becomes an object file."""

    def _finalize_final_module(self) -> None:
        """Does not hand the code to the execution engine, which would load it."""
        self._finalized = True

    def emit_object(self) -> bytes:
        """The object file, with what was linked into it, optimized as a whole."""
        machine = cast(_TargetMachine, vars(self._codegen)["_tm"])
        return machine.emit_object(vars(self)["_final_module"])


class _TargetMachine(Protocol):
    def emit_object(self, module: object) -> bytes: ...


class _LinkedLibrary(Protocol):
    """What is called of an entry's library, of which Numba does not declare the types."""

    def create_ir_module(self, name: str) -> ir.Module: ...
    def add_ir_module(self, ir_module: ir.Module) -> None: ...
    def add_llvm_module(self, ll_module: binding.ModuleRef) -> None: ...
    def add_linking_library(self, library: _CalleeLibrary) -> None: ...
    def finalize(self) -> None: ...
    def emit_object(self) -> bytes: ...


class _Flags(Protocol):
    no_compile: bool
    no_cpython_wrapper: bool
    no_cfunc_wrapper: bool


class _Lowered(NamedTuple):
    """The result of lowering; ``cfunc`` is what Python would call."""

    fndesc: object
    call_helper: object
    cfunc: object
    env: object


class _Identity(Protocol):
    func_qualname: str


class _State(Protocol):
    """What the passes of a compilation share."""

    func_id: _Identity
    flags: _Flags
    library: _CalleeLibrary
    targetctx: _TargetContext
    cr: _Lowered


class _Passes(Protocol):
    """The passes of a pipeline."""

    def add_pass_after(self, pass_cls: type[object], location: type[object]) -> None: ...
    def finalize(self) -> None: ...


class _MakeLinkable(LoweringPass):
    """Lets callers find the code by an identity in place of an address, which it has not."""

    _name = "nestmap_make_linkable"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # abstract there

    def run_pass(  # pyright: ignore[reportIncompatibleMethodOverride] (inferred from a stub)
        self, state: _State
    ) -> bool:
        """Registers what was lowered."""
        identity = object().__sizeof__  # dispatchers take built-in functions only
        lowered = state.cr
        state.targetctx.insert_user_function(identity, lowered.fndesc, [state.library])
        state.cr = _Lowered(lowered.fndesc, lowered.call_helper, identity, lowered.env)
        return True


class _CalleeCompiler(CompilerBase):
    """Numba's own pipeline, into a library that is linked only."""

    def define_pipelines(self) -> list[_Passes]:
        """The passes; the state is prepared for the one that lowers to LLVM."""
        state = cast(_State, self.state)
        state.library = _new_library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        passes = _nopython_pipeline(state)
        passes.add_pass_after(_MakeLinkable, NativeLowering)
        passes.finalize()
        return [passes]


# Numba does not declare the types of these.
_new_library: Final = cast(Callable[[object, str], _CalleeLibrary], _CalleeLibrary)
_new_entry_library: Final = cast(Callable[[object, str], _LinkedLibrary], _EntryLibrary)
_typeof: Final = cast(Callable[[object], object], vars(numba)["typeof"])
_nopython_pipeline: Final = cast(
    Callable[[_State], _Passes], vars(DefaultPassBuilder)["define_nopython_pipeline"].__func__
)
_register: Final = cast(
    Callable[..., Callable[[type[object]], object]], vars(compiler_machinery)["register_pass"]
)
_register(mutates_CFG=False, analysis_only=False)(_MakeLinkable)
