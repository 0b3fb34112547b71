"""The cases of the page of errors: what each one writes and runs, and what that prints."""

import errno
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, final

import onnx
import pytest
from typer.testing import CliRunner

from nestmap.model import NestmapError
from nestmap.pipeline.cli.commands import command_line
from nestmap.pipeline.frontend.onnx_process.child_process import ChildEndedError, Frame, exchange
from nestmap.store import Store
from nestmap.store.connection.connect import connect
from tests.docs.blocks import Block, blocks_in
from tests.docs_pages.page import Section, text_of, write_files
from tests.faults.interrupts import CTRL_C, ONNX_CRASH
from tests.faults.processes import HOLD, read_line, running
from tests.pipeline.cli.inputs import Ended, run_process
from tests.pipeline.frontend.onnx.build import integers, model, node, one, weights

PAGE: Final = "errors.md"
INTRODUCTION: Final = text_of(PAGE).partition("\n### ")[0]
"""With the files that every case begins with."""

STORE: Final = Path("nestmap.duckdb")

NO_ROOM: Final = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
LITTLE_MEMORY: Final = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))"

Run = Callable[..., Ended]
"""Runs the command line."""


@final
class Net:
    """Stands for a module of PyTorch."""


Given = Callable[[pytest.MonkeyPatch], AbstractContextManager[Run]]
"""Makes what a case needs beside its files, for a while."""


def run(*arguments: str) -> Ended:
    """Runs the command line in this process."""
    result = CliRunner().invoke(command_line(arguments), list(arguments), prog_name="nestmap")
    return Ended(result.exit_code, result.stdout, result.stderr)


def print_case(section: Section, patch: pytest.MonkeyPatch) -> str:
    """What a case prints, run in the current folder: the message on stderr, or the exception."""
    write_files(blocks_in(INTRODUCTION), Path())
    for block in section.blocks:
        _write(block)
    with GIVEN[_given(section)](patch) as command:
        for block in section.blocks:
            if block.language == "sh":
                return _of_commands(block.text, command)
            if block.language == "python":
                return _of_python(block.text)
    raise AssertionError(f"{section.heading}: nothing to run")


def _given(section: Section) -> str:
    named = re.search(r"<!-- given: (.+) -->", section.text)
    return named[1] if named else ""


def _write(block: Block) -> None:
    """Writes the file that a block stands for, or changes it."""
    if block.language != "diff":
        write_files((block,), Path())
        return
    assert block.title is not None
    file, lines = Path(block.title), block.text.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if not line.startswith("+"))
    new = "".join(line[1:] for line in lines if not line.startswith("-"))
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def _of_commands(text: str, command: Run) -> str:
    """The last command fails; those before it do not."""
    *before, last = [shlex.split(line) for line in text.replace("\\\n", " ").splitlines()]
    for program, *arguments in before:
        assert program == "nestmap"
        ended = run(*arguments)
        assert ended.code == 0, ended.err
    program, *arguments = last
    assert program == "nestmap"
    ended = command(*arguments)
    assert ended.code == (130 if ended.err.endswith("interrupted\n") else 2), (
        ended.code,
        ended.err,
    )
    return ended.err


def _of_python(text: str) -> str:
    try:
        exec(compile(text, PAGE, "exec"), {"net": Net(), "image": None})
    except NestmapError as error:
        return traceback.format_exception_only(error)[-1]
    raise AssertionError("nothing was raised")


@contextmanager
def nothing(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """No more than the files."""
    yield run


def file_with(content: bytes | onnx.ModelProto, name: str = "net.onnx") -> Given:
    """A file that no page can show."""

    @contextmanager
    def made(patch: pytest.MonkeyPatch) -> Generator[Run]:
        data = content if isinstance(content, bytes) else content.SerializeToString()
        Path(name).write_bytes(data)
        yield run

    return made


def without(*packages: str) -> Given:
    """A Python in which packages are not installed."""

    @contextmanager
    def made(patch: pytest.MonkeyPatch) -> Generator[Run]:
        for package in packages:
            patch.setitem(sys.modules, package, None)
        yield run

    return made


@contextmanager
def store_open_elsewhere(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A store that another process has open."""
    Store.open(STORE).close()
    with running(HOLD, str(STORE)) as process:
        assert read_line(process) == "open"
        yield run


@contextmanager
def store_of_later_version(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A store that a later version of nestmap has written."""
    Store.open(STORE).close()
    with connect(STORE) as connection:
        connection.execute("INSERT INTO store_schema VALUES (99, now())")
    yield run


@contextmanager
def store_of_earlier_version(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A store that an earlier version of nestmap has written."""
    Store.open(STORE).close()
    with connect(STORE) as connection:
        connection.execute("ALTER TABLE store_schema RENAME TO schema_version")
    yield run


@contextmanager
def cut_off(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A store of which a part is missing, as after a copy that was interrupted."""
    Store.open(STORE).close()
    STORE.write_bytes(STORE.read_bytes()[:100_000])
    yield run


@contextmanager
def disk_full(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A disk without room, for a process of its own: the limit is one of the whole process."""
    yield partial(run_process, setup=NO_ROOM)


@contextmanager
def little_memory(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """An address space in which libraries crash."""
    yield partial(run_process, setup=LITTLE_MEMORY)


@contextmanager
def ctrl_c(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """Ctrl-C at the first evaluation, in a process of its own."""
    yield partial(run_process, setup=CTRL_C)


@contextmanager
def onnx_crash(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A model on which the onnx library crashes."""
    Path("net.onnx").write_bytes(symbolic().SerializeToString())
    yield partial(run_process, setup=ONNX_CRASH)


@contextmanager
def onnx_hang(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A model that the onnx library does not finish in time."""
    Path("net.onnx").write_bytes(symbolic().SerializeToString())

    def late(process: subprocess.Popen[bytes], request: Frame | None, seconds: float) -> Frame:
        if request is None:
            return exchange(process, None, seconds)
        raise ChildEndedError(is_late=True)

    patch.setattr("nestmap.pipeline.frontend.onnx_process.client.exchange", late)
    yield run


@contextmanager
def read_only(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A store that may be read only (the user who runs tests may be root, who may write)."""
    Store.open(STORE).close()

    real = os.access

    def access(path: str | Path, mode: int) -> bool:
        return real(path, mode) and not (mode & os.W_OK and Path(path) == STORE)

    patch.setattr("nestmap.store.connection.connect.os.access", access)
    yield run


@contextmanager
def port_in_use(patch: pytest.MonkeyPatch) -> Generator[Run]:
    """A port that another program has; which ones are free here, nobody knows."""

    def bound(port: int) -> None:
        raise OSError(errno.EADDRINUSE, f"Address {port} already in use")

    patch.setattr("nestmap.pipeline.pages.explorer.server._bound", bound)
    yield run


def symbolic() -> onnx.ModelProto:
    """A convolution with a batch and a width that the file leaves open."""
    return one("Conv", {"x": ("N", 2, 8, "W")}, {"w": (4, 2, 3, 3)})


def custom() -> onnx.ModelProto:
    """A matrix product behind an operator that nobody knows."""
    nodes = [
        node("Mystery", "x", "t", name="odd", domain="acme"),
        node("MatMul", "t w", "y", name="n"),
    ]
    return model(nodes, {"x": (2, 8)}, [weights("w", 8, 4)])


def only_vectors() -> onnx.ModelProto:
    """A network without a layer for the array."""
    return model([node("Relu", "x", "y", name="relu")], {"x": (2, 8)})


def channels() -> onnx.ModelProto:
    """A convolution whose weights do not suit its input."""
    return one("Conv", {"x": (1, 3, 8, 8)}, {"w": (4, 2, 3, 3)})


def false_statement() -> onnx.ModelProto:
    """A convolution behind an activation whose stated output is a hundred times larger."""
    nodes = [node("Relu", "x", "r", name="act"), node("Conv", "r w", "y", name="conv")]
    source = model(nodes, {"x": (1, 64, 56, 56)}, [weights("w", 8, 64, 1, 1)])
    shape = [1, 6400, 56, 56]
    value = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, shape)
    source.graph.value_info.append(value)
    return source


def reshape() -> onnx.ModelProto:
    """A matrix product of more elements than there are."""
    nodes = [node("Reshape", "x to", "r", name="flat"), node("MatMul", "r w", "y", name="n")]
    return model(nodes, {"x": (1, 192)}, [integers("to", 1, 768), weights("w", 768, 4)])


def misspelled() -> onnx.ModelProto:
    """A convolution with an attribute that nobody reads."""
    return one("Conv", {"x": (1, 2, 8, 8)}, {"w": (4, 2, 3, 3)}, {"strydes": [2, 2]})


POINTER: Final = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 102532\n"

GIVEN: Final[dict[str, Given]] = {
    "": nothing,
    "a pointer of Git LFS instead of the model": file_with(POINTER),
    "a model with open sizes": file_with(symbolic()),
    "a model with an operator of somebody's own": file_with(custom()),
    "a model of activations only": file_with(only_vectors()),
    "a model whose shapes contradict each other": file_with(channels()),
    "a model on which the onnx library crashes": onnx_crash,
    "a model that takes hours": onnx_hang,
    "a model that states a false shape": file_with(false_statement()),
    "a model with a reshape into more elements": file_with(reshape()),
    "a model with a misspelled attribute": file_with(misspelled()),
    "no package hwcomponents-cacti": without("hwcomponents_cacti"),
    "no vl_convert": without("vl_convert"),
    "no jinja2, no vl-convert": without("jinja2", "vl_convert"),
    "no starlette, no uvicorn": without("starlette", "uvicorn"),
    "port 8400 in use": port_in_use,
    "no torch": without("torch", "onnxscript", "onnx_ir"),
    "another process has the store open": store_open_elsewhere,
    "a store of a later version": store_of_later_version,
    "a store of an earlier version": store_of_earlier_version,
    "a store that is cut off": cut_off,
    "ulimit -v 524288": little_memory,
    "a disk without room": disk_full,
    "Ctrl-C while it runs": ctrl_c,
    "a store that may only be read": read_only,
}
