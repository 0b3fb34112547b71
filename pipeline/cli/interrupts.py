"""Ctrl-C and SIGTERM end the command line with one line and exit code 130."""

from __future__ import annotations

import atexit
import signal
import sys
from _thread import interrupt_main
from collections.abc import Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

INTERRUPTED: Final = 130  # 128 + the number of SIGINT, as shells report it
_PAUSE: Final = 0.05
_IMPORTS: Final = "<frozen importlib._bootstrap>"
"""The file of the functions that import modules."""

_BUILDERS: Final = ("llvmlite.binding.", "pydantic.plugin.")
"""Modules with functions that compiled code calls, or that call it meanwhile."""


@contextmanager
def exit_if_interrupted() -> Generator[None]:
    """Raises KeyboardInterrupt in the block on SIGINT and SIGTERM; ends the process if it does.

    A signal that a parent told this process to ignore stays ignored. Once the process ends, which
    takes milliseconds, it ignores them all.

    Raises:
        SystemExit: with exit code 130 if the block was interrupted.
    """
    hook = sys.unraisablehook
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: x for number, x in usual.items() if signal.getsignal(number) is x}
    interrupts = _Interrupts()
    try:
        for number in before:
            signal.signal(number, interrupts.receive)
        sys.unraisablehook = _raise_again
        yield
    except KeyboardInterrupt:
        interrupts.end()
    except SystemExit as error:  # Typer ends with this code if a command is interrupted
        if error.code == INTERRUPTED:
            interrupts.end()
        raise
    finally:
        if not interrupts.is_ending:
            for number, handler in before.items():
                signal.signal(number, handler)
        sys.unraisablehook = hook
        for number in usual:
            atexit.register(signal.signal, number, signal.SIG_IGN)


@final
class _Interrupts:
    """What happens on a signal: KeyboardInterrupt, until one has ended the block."""

    def __init__(self) -> None:
        self.is_ending = False

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Interrupts what runs; later, while a module is imported, or compiled code calls Python.

        Neither survives an exception there: DuckDB's module aborts, or frees its tables twice when
        the process ends; LLVM returns invalid addresses; Pydantic reports an invalid schema.
        """
        if self.is_ending:
            return
        while frame is not None:
            if frame.f_code is _interrupt_later.__code__:
                return  # the interrupt that it prepares stands for this one, too
            module: object = frame.f_globals.get("__name__")
            if frame.f_code.co_filename == _IMPORTS or str(module).startswith(_BUILDERS):
                _interrupt_later()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def end(self) -> None:
        """Ends the process."""
        self.is_ending = True
        sys.stderr.write("interrupted\n")
        raise SystemExit(INTERRUPTED) from None


def _interrupt_later() -> None:
    again = Timer(_PAUSE, interrupt_main)
    again.daemon = True
    again.start()


def _raise_again(ignored: UnraisableHookArgs) -> None:
    """Repeats an interrupt that Python ignored, because it was raised within a callback.

    A signal handler runs within whatever Python function comes next, such as one that LLVM or the
    garbage collector calls, which cannot pass the exception on.
    """
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        _interrupt_later()
    else:
        sys.__unraisablehook__(ignored)
