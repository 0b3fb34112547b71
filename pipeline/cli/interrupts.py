"""Ctrl-C and SIGTERM end the command line with one line and exit code 130."""

from __future__ import annotations

import atexit
import signal
import sys
from _thread import interrupt_main
from collections.abc import Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED: Final = 130  # 128 + the number of SIGINT, as shells report it
_PAUSE: Final = 0.05


@contextmanager
def exit_if_interrupted() -> Generator[None]:
    """Raises KeyboardInterrupt in the block on SIGINT and SIGTERM; ends the process if it does.

    A signal that a parent told this process to ignore stays ignored.

    Raises:
        SystemExit: with exit code 130 if the block was interrupted.
    """
    before, hook = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _raise_again
    try:
        yield
    except KeyboardInterrupt:
        _end()
    except SystemExit as error:  # Typer ends with this code if a command is interrupted
        if error.code == INTERRUPTED:
            _end()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.unraisablehook = hook
        for number in (signal.SIGINT, signal.SIGTERM):  # what is left takes milliseconds
            atexit.register(signal.signal, number, signal.SIG_IGN)


def _end() -> None:
    sys.stderr.write("interrupted\n")
    raise SystemExit(INTERRUPTED) from None


def _raise_again(ignored: UnraisableHookArgs) -> None:
    """Repeats an interrupt that Python ignored, because it was raised within a callback.

    A signal handler runs within whatever Python function comes next, such as one that LLVM or the
    garbage collector calls, which cannot pass the exception on.
    """
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        again = Timer(_PAUSE, interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(ignored)
