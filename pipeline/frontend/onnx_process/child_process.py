"""Child processes that answer requests through pipes, within limits, and may die.

Both sides send frames: a line with two lengths, a head (JSON) and a body (data).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import IO, Final, NamedTuple

_LONGEST_LINE: Final = 64


class Frame(NamedTuple):
    """A request or an answer."""

    head: bytes
    body: bytes = b""


class ChildEndedError(Exception):
    """Raised if a child ends before it has answered; ``is_late``: it was killed after its time."""

    def __init__(self, *, is_late: bool) -> None:
        super().__init__("the process has ended")
        self.is_late = is_late


def start_child(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A Python process that runs code with arguments (``sys.argv[1:]``).

    It finds the modules that this process finds, and none of the working directory unless this
    process does. Ctrl-C does not reach it. It should end with its input: the input ends when this
    process ends.
    """
    path = [folder or os.curdir for folder in sys.path]
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        start_new_session=True,
    )


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """Kills a child if it still runs, and waits until it has ended."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # unwritten data for a process that has ended
                pipe.close()


def exchange(process: subprocess.Popen[bytes], request: Frame | None, seconds: float) -> Frame:
    """The next answer of a child.

    Args:
        process: the child.
        request: what to ask for (``None``: nothing, the child says something by itself).
        seconds: how long the child may take; then it is killed.

    Raises:
        ChildEndedError: if it ends before it has answered; :func:`kill_child` is still needed.
    """
    end = monotonic() + seconds
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        if process.stdin is None or process.stdout is None:
            raise OSError("no pipes")
        if request is not None:
            write_frame(process.stdin, request)
        return _read_frame(process.stdout)
    except (OSError, ValueError):  # ValueError: no frame, or a pipe that another thread has closed
        raise ChildEndedError(is_late=monotonic() >= end) from None
    finally:
        timer.cancel()


def write_frame(pipe: IO[bytes], frame: Frame) -> None:
    """Sends a frame.

    Raises:
        OSError: if the other side has ended.
    """
    pipe.write(b"%d %d\n" % (len(frame.head), len(frame.body)))
    pipe.write(frame.head)
    pipe.write(frame.body)
    pipe.flush()


def _read_frame(pipe: IO[bytes]) -> Frame:
    line = pipe.readline(_LONGEST_LINE)
    lengths = line.split()
    if not line.endswith(b"\n") or len(lengths) != len(Frame._fields):
        raise OSError("the other side has ended")
    head, body = (pipe.read(int(length)) for length in lengths)
    if (len(head), len(body)) != tuple(map(int, lengths)):
        raise OSError("the other side has ended")
    return Frame(head, body)


def requests() -> Iterator[Frame]:
    """In a child: the requests, until the parent closes its end or ends."""
    with suppress(OSError):
        while True:
            yield _read_frame(sys.stdin.buffer)


def answer_pipe() -> IO[bytes]:
    """In a child: the pipe for answers; whatever else is printed no longer gets there."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return pipe


def limit_process(extra_memory: int) -> None:
    """In a child: forbids writing files and limits memory, where the operating system can.

    Args:
        extra_memory: address space (bytes) beyond what the process has reserved now.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (not on Windows)

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = address_space() + extra_memory
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def address_space() -> int:
    """The address space of this process (bytes), which is limited; 0 where nothing is."""
    if sys.platform != "linux":
        return 0
    import resource  # noqa: PLC0415 (not on Windows)

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def set_alarm(seconds: float) -> None:
    """In a child: ends the process after that time, even within a function call; 0: never.

    For the case that the parent, which would kill it, has ended.
    """
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)
