"""Compiles kernels with Numba: entries, which Python calls, and callees for other kernels."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Final, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import numba
from numba.core import compiler_machinery, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NativeLowering

from nestmap.costmodel.kernel.kernel_cache import KernelCache

P = ParamSpec("P")
R = TypeVar("R")


def entry(function: Callable[P, R], is_inlined: bool, digest: str) -> Callable[P, R]:
    """The function, compiled for Python at the first call with each signature, cached on disk.

    With ``NUMBA_DISABLE_JIT=1`` it is the function itself.
    """
    made = numba.njit(nogil=True, error_model="numpy", forceinline=is_inlined)(function)
    if made is not function:
        vars(made)["_cache"] = KernelCache(cast(FunctionType, function), digest)
    return cast(Callable[P, R], made)


def callee(function: Callable[P, R], is_inlined: bool) -> Callable[P, R]:
    """The function, compiled for the kernels that call it; Python cannot call it.

    Callees are neither translated to machine code nor optimized beyond single functions: entries
    contain the code of all their callees, and are optimized as a whole.
    """
    made = numba.njit(
        nogil=True, error_model="numpy", forceinline=is_inlined, pipeline_class=_CalleeCompiler
    )(function)
    return cast(Callable[P, R], made)


def type_of_callee(made: Callable[..., object]) -> object:
    """Numba's type of a callee, which it does not keep alive."""
    return types.Dispatcher(cast("Dispatcher[Callable[..., object]]", made))


class _CalleeLibrary(JITCodeLibrary):
    """LLVM code that is linked into that of callers only."""

    def _optimize_final_module(self) -> None:
        """Leaves it to the entry."""

    def _finalize_final_module(self) -> None:
        """Does not hand the code to the execution engine, which would translate it."""
        self._finalized = True


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


class _TargetContext(Protocol):
    def codegen(self) -> object: ...
    def insert_user_function(
        self, func: object, fndesc: object, libs: list[_CalleeLibrary]
    ) -> None: ...


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
_nopython_pipeline: Final = cast(
    Callable[[_State], _Passes], vars(DefaultPassBuilder)["define_nopython_pipeline"].__func__
)
_register: Final = cast(
    Callable[..., Callable[[type[object]], object]], vars(compiler_machinery)["register_pass"]
)
_register(mutates_CFG=False, analysis_only=False)(_MakeLinkable)
