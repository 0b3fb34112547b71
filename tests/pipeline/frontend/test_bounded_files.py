"""Files of users: devices without an end, silent pipes, and what is too large."""

import os
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from nestmap.model import InputError
from nestmap.pipeline.frontend import bounded_files
from nestmap.pipeline.frontend.bounded_files import read_bounded
from tests.pipeline.cli.inputs import run

KIND = "a YAML file"


def refused(path: Path, most: int = 100) -> str:
    with pytest.raises(InputError) as error:
        read_bounded(path, most, KIND)
    assert str(error.value).startswith(f"{path}: found ")
    assert KIND in error.value.expected
    return error.value.found


def test_files_up_to_the_limit_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size in (0, 1, 100):
        path.write_bytes(b"x" * size)
        assert read_bounded(path, 100, KIND) == b"x" * size
    path.write_bytes(b"x" * 3_000_000)
    assert len(read_bounded(path, 3_000_000, KIND)) == 3_000_000


def test_huge_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(2**40)  # a file without content: nobody could read it
    assert refused(path) == "more than 100 bytes"
    assert refused(tmp_path) == "a directory"
    assert refused(tmp_path / "none") == "no such file"
    assert "cannot be read" in refused(tmp_path / ("x" * 300))


def test_devices_without_an_end_are_refused() -> None:
    assert refused(Path("/dev/zero")) == "more than 100 bytes"
    assert read_bounded(Path("/dev/null"), 100, KIND) == b""


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_pipes_are_read_to_their_end(pipe: Path) -> None:
    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for part in (b"one ", b"two"):
                file.write(part)
                sleep(0.05)

    thread = Thread(target=write)
    thread.start()
    assert read_bounded(pipe, 100, KIND) == b"one two"
    thread.join()


def test_pipes_that_nobody_writes_to_are_given_up(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_files, "PIPE_SECONDS", 0.2)
    assert refused(pipe) == "a pipe that was not written to its end within 0.2 s"
    with open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as file:  # who writes, and never ends
        file.write(b"begin")
        assert refused(pipe) == "a pipe that was not written to its end within 0.2 s"


def test_the_command_line_refuses_them() -> None:
    ended = run("explore", "light:squeezenet", "-a", "/dev/zero")
    assert ended.code == 2
    assert ended.err.startswith("error: /dev/zero: found more than")
