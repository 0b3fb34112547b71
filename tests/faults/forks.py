"""Commands in processes of their own that need not import nestmap: forks of one that has.

``python -m tests.faults.forks SOCKET`` explores something, and forks for each order that it gets
from the socket. A fork has imported what it needs and loaded its kernels, which is most of what a
short command does. What is to be interrupted while it imports or loads must start from nothing:
:func:`tests.pipeline.cli.inputs.program`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Final, final

from tests.pipeline.cli.inputs import Ended, program, run, written

PATIENCE: Final = 300
"""After how long a command is ended (s)."""

_LONGEST: Final = 2**20
_NUMBER: Final = 8


@final
@dataclass(frozen=True)
class Order:
    """What to run, and where: in a fork, or in the process itself, which then has all it needs."""

    is_for_fork: bool
    program: str
    words: tuple[str, ...]
    folder: str
    environment: dict[str, str]


@final
@dataclass(frozen=True)
class Fork:
    """A command that runs, and the ends of the pipes that it writes to."""

    pid: int
    out: TextIOWrapper
    err: TextIOWrapper
    server: socket.socket

    def kill(self) -> None:
        """Ends it, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> Ended:
        """How it ends and what it writes until then."""
        with self.out, self.err, ThreadPoolExecutor(2) as pool:
            out, err = pool.map(TextIOWrapper.read, (self.out, self.err))
        return Ended(_received(self.server), out, err)


@final
class Forks:
    """Runs commands as forks of a process, one after the other."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server

    def prepare(self, *words: str) -> None:
        """Runs a command line so that forks need not import or load what it needs."""
        order = Order(False, "", words, str(Path.cwd()), dict(os.environ))
        self._server.send(_message(order))
        assert _received(self._server) == 0

    def start(self, *words: str, setup: str = "") -> Fork:
        """Starts a command line after a setup, in the current folder."""
        return self.start_program(program(setup)[-1], *words)

    def start_program(self, program: str, *words: str) -> Fork:
        """Starts a Python program in the current folder."""
        order = Order(True, program, words, str(Path.cwd()), dict(os.environ))
        (out, out_of_fork), (err, err_of_fork) = os.pipe(), os.pipe()
        ends = [out_of_fork, err_of_fork]
        socket.send_fds(self._server, [_message(order)], ends)
        for end in ends:
            os.close(end)
        return Fork(_received(self._server), _text(out), _text(err), self._server)

    def run(self, *words: str, setup: str = "") -> Ended:
        """Like :func:`tests.pipeline.cli.inputs.run_process`."""
        return self.start(*words, setup=setup).end()


@contextmanager
def forks() -> Generator[Forks]:
    """A process that forks; it ends with the block."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.faults.forks", str(there.fileno())]
    with here, subprocess.Popen(command, pass_fds=[there.fileno()]) as process:
        there.close()
        try:
            yield Forks(here)
        finally:
            process.kill()


def _text(end: int) -> TextIOWrapper:
    return os.fdopen(end, encoding="utf-8")


def _message(order: Order) -> bytes:
    return json.dumps(asdict(order)).encode()


def _received(server: socket.socket) -> int:
    number = server.recv(_NUMBER)
    assert number, "the process that forks is gone"
    return int.from_bytes(number, signed=True)


def _say(client: socket.socket, number: int) -> None:
    client.send(number.to_bytes(_NUMBER, signed=True))


def main() -> None:
    """Runs what it is told to."""
    client = socket.socket(fileno=int(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        _prepare(written(Path(name)).explore)
    while True:
        message, ends, _, _ = socket.recv_fds(client, _LONGEST, 2)
        if not message:
            return
        order = Order(**json.loads(message))
        if not order.is_for_fork:
            os.chdir(order.folder)
            os.environ.update(order.environment)
            _prepare(order.words)
            _say(client, 0)
            continue
        child = os.fork()
        if child == 0:
            client.close()
            _become(order, ends)
            return  # as a program does that ends
        for end in ends:
            os.close(end)
        _say(client, child)
        _, status = os.waitpid(child, 0)
        _say(client, os.waitstatus_to_exitcode(status))


def _prepare(words: Sequence[str]) -> None:
    """Leaves nothing to be imported or loaded."""
    ended = run(*words)
    assert ended.code == 0, ended.err
    os.chdir("/")
    assert threading.active_count() == 1  # what forks must have no other threads


def _become(order: Order, ends: list[int]) -> None:
    """Runs the program as Python does one of the command line."""
    signal.alarm(PATIENCE)
    for end, standard in zip(ends, (1, 2), strict=True):
        os.dup2(end, standard)
        os.close(end)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv = ["-c", *order.words]
    sys.modules["__main__"] = program = ModuleType("__main__")
    exec(order.program, program.__dict__)


if __name__ == "__main__":
    main()
