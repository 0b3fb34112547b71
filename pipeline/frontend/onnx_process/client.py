"""Asks the process that reads ONNX files, starts it when needed, and survives its end."""

import atexit
import builtins
import os
import signal
import subprocess
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, final

from nestmap.model import InputError, InputWarning, Workload
from nestmap.pipeline.frontend.onnx_bytes import InputValue, default_name, read_onnx_bytes
from nestmap.pipeline.frontend.onnx_process.child_process import (
    ChildEndedError,
    Frame,
    exchange,
    kill_child,
    start_child,
)
from nestmap.pipeline.frontend.onnx_process.known_files import known_file
from nestmap.pipeline.frontend.onnx_process.messages import (
    READY,
    OnnxAnswer,
    OnnxLimits,
    OnnxRequest,
    error_of,
)

IN_PROCESS: Final = "NESTMAP_ONNX_IN_PROCESS"
"""The environment variable that, if it is 1, keeps reading in the process of the caller."""

_START_SECONDS: Final = 120.0
_START: Final = "from nestmap.pipeline.frontend.onnx_process.server import serve; serve()"
_VALID: Final = "a valid ONNX model: onnx.checker.check_model(path, full_check=True) accepts it"


def read_onnx(  # noqa: PLR0913 (what parse_onnx takes)
    path: Path,
    dims: Mapping[str, int] | None = None,
    float_bits: int | None = None,
    *,
    measures_density: bool = False,
    values: Mapping[str, InputValue] | None = None,
    trust_shapes: bool = False,
    is_trusted: bool = False,
) -> Workload:
    """The workload of an ONNX file, read in a process that may crash.

    Args:
        path: the file.
        dims: sizes of symbolic dimensions.
        float_bits: the bits counted for a float element (``None``: 8).
        measures_density: whether to count the zeros of constants.
        values: the values of inputs that decide what runs.
        trust_shapes: whether shapes are as the model states them.
        is_trusted: whether the file is known to be harmless: it is read in this process.

    Raises:
        InputError: if the file is invalid, or the process crashes or exceeds its limits.
    """
    asked = replace(
        _request(path, dims or {}, float_bits, measures_density),
        values=dict(values or {}),
        trust_shapes=trust_shapes,
    )
    if not (is_trusted or _is_separate()):
        return _read_here(path, asked)
    known = None if asked.file is None else known_file(asked.file)
    workload = None if known is None else known.recall(asked)
    if workload is not None:
        return workload
    read = _Read(_read_here(path, asked)) if is_trusted else _shared.ask(asked)
    if known is not None and not read.warned:  # warnings are said each time
        known.remember(asked, read.workload)
    return read.workload


class _Read(NamedTuple):
    """The workload of a file, and whether reading it gave warnings."""

    workload: Workload
    warned: bool = False


def _read_here(path: Path, asked: OnnxRequest) -> Workload:
    # onnx is slow to import; only what reads a file for the first time pays for it
    from nestmap.pipeline.frontend.onnx import parse_onnx  # noqa: PLC0415
    from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED  # noqa: PLC0415

    bits = UNSTATED if asked.float_bits is None else asked.float_bits
    return parse_onnx(
        path,
        dims=asked.dims,
        float_bits=bits,
        measures_density=asked.measures_density,
        values=asked.values,
        trust_shapes=asked.trust_shapes,
    )


@final
class OnnxProcess:
    """Reads ONNX files in a child process, one at a time; can be used from any thread.

    The process starts when it is first needed and serves further files until one makes it crash or
    exceeds the limits, which a new process follows.
    """

    def __init__(self, limits: OnnxLimits | None = None) -> None:
        self._limits = OnnxLimits() if limits is None else limits
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    @property
    def process_id(self) -> int | None:
        """The running process, if there is one."""
        return None if self._process is None else self._process.pid

    def read(
        self,
        path: Path,
        dims: Mapping[str, int],
        float_bits: int | None = None,
        *,
        measures_density: bool = False,
    ) -> Workload:
        """The workload of a file.

        Raises:
            InputError: if the file is invalid, or the process crashes or exceeds its limits.
            RuntimeError: if there is a bug in the front-end.
        """
        return self.ask(_request(path, dims, float_bits, measures_density)).workload

    def ask(self, asked: OnnxRequest) -> _Read:
        """What becomes of a file.

        Raises:
            InputError: if the file is invalid, or the process crashes or exceeds its limits.
            RuntimeError: if there is a bug in the front-end.
        """
        # what only this process can open is read here
        content = read_onnx_bytes(Path(asked.where)) if asked.file is None else b""
        request = Frame(asked.to_json(), content)
        with self._lock:
            try:
                frame = self._exchange(request, asked.where)
                answer = OnnxAnswer.from_json(frame.head)
                if answer.is_worn:
                    self._stop()
            except BaseException:  # also Ctrl-C: the answer would be taken for the next one's
                self._stop()
                raise
        return self._result(answer, frame.body, asked.where)

    def close(self) -> None:
        """Ends the process; the next file starts another."""
        with self._lock:
            self._stop()

    def abandon(self) -> None:
        """In a copy of this process that ``fork`` made: leaves the child to the original."""
        process, self._process, self._lock = self._process, None, Lock()
        if process is None:
            return
        process.returncode = 0  # not a child of this process
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                os.dup2(nowhere, pipe.fileno())  # else the child would not end with its parent
        os.close(nowhere)

    def _exchange(self, request: Frame, where: str) -> Frame:
        process = self._running(where)
        try:
            return exchange(process, request, self._limits.seconds)
        except ChildEndedError as error:
            found = self._late() if error.is_late else _crash(process.wait())
            raise InputError(where, *found) from None

    def _running(self, where: str) -> subprocess.Popen[bytes]:
        """The process, started if there is none, that can read files."""
        try:
            process = self._process
            if process is None or process.poll() is not None:
                self._stop()
                process = self._start()
            if not self._is_ready:
                self._is_ready = exchange(process, None, _START_SECONDS).head == READY
        except (ChildEndedError, OSError):
            found = "an ONNX file, and a process for the onnx library that does not start"
            expected = f"a Python that can start processes, or {IN_PROCESS}=1"
            raise InputError(where, found, expected) from None
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        self._process, self._is_ready = start_child(_START, *map(str, self._limits)), False
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            kill_child(self._process)
            self._process = None

    def _result(self, answer: OnnxAnswer, workload: bytes, where: str) -> _Read:
        for module, name, text in answer.warnings:
            warnings.warn(_category(module, name)(text), stacklevel=4)
        if answer.problem is not None:
            raise error_of(answer.problem)
        if answer.lacks_memory:
            raise InputError(where, *self._large())
        if answer.bug is not None:
            raise RuntimeError(f"in the process that reads {where}:\n{answer.bug}")
        return _Read(Workload.model_validate_json(workload), bool(answer.warnings))

    def _late(self) -> tuple[str, str]:
        limit = f"{self._limits.seconds:g} s"
        found = f"a model that the onnx library does not finish within {limit}"
        return found, f"a model that takes at most {limit}, or {IN_PROCESS}=1 for one without limit"

    def _large(self) -> tuple[str, str]:
        limit = f"{self._limits.memory / 2**30:g} GiB"
        found = f"a model for which the onnx library needs more than {limit} of memory"
        return found, f"a model that takes at most {limit}, or {IN_PROCESS}=1 for one without limit"


def _request(
    path: Path, dims: Mapping[str, int], float_bits: int | None, measures_density: bool
) -> OnnxRequest:
    """Asks for a file by its path, if another process finds the same there."""
    return OnnxRequest(
        where=str(path),
        name=default_name(path),
        file=_file_for_all(path),
        dims=dict(dims),
        float_bits=float_bits,
        measures_density=measures_density,
    )


def _file_for_all(path: Path) -> str | None:
    """The path by which another process finds the same file, if it is an ordinary file."""
    try:
        real = os.path.realpath(path)  # of /dev/stdin: the file that is this process's input
        return real if os.path.isfile(real) and os.path.samefile(real, path) else None
    except (OSError, ValueError):
        return None


def _crash(code: int) -> tuple[str, str]:
    """What to say of a process that has ended by itself, or that something else has killed."""
    name = _signal_name(code)
    if name == "SIGKILL":
        found = "a model during which the onnx library was killed (SIGKILL)"
        return found, "a model that the memory of this machine suffices for"
    reason = f"exit code {code}" if name is None else f"signal {name}"
    return f"a model on which the onnx library crashes ({reason})", _VALID


def _signal_name(code: int) -> str | None:
    """The name of the signal that ended a process, if one did."""
    return next((each.name for each in signal.Signals if each == -code), None)


def _category(module: str, name: str) -> type[Warning]:
    """The class of a warning; those of other packages are general warnings here."""
    if (module, name) == (InputWarning.__module__, InputWarning.__qualname__):
        return InputWarning
    found: object = getattr(builtins, name, None) if module == builtins.__name__ else None
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning


_shared: Final = OnnxProcess()
atexit.register(_shared.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.abandon)


def _is_separate() -> bool:
    return os.environ.get(IN_PROCESS) != "1"


def close_shared() -> None:
    """Ends the process that :func:`read_onnx` uses; the next file starts another."""
    _shared.close()
