"""Too little memory, or no more threads: one line, whatever ran out where."""

import sys

import pytest

from nestmap.pipeline.cli.error_handling import LEAST_ADDRESS_SPACE, exhausted_resource
from tests.faults.forks import Forks
from tests.pipeline.cli.inputs import Inputs, run_process, written

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_AS, (%d, %d))"


@pytest.fixture
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The files of a small exploration."""
    return written(tmp_path_factory.mktemp("limits"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit it")
@pytest.mark.parametrize("mebibytes", [120, 300, 600, 1000, 1500])
def test_too_little_address_space_is_one_line(inputs: Inputs, mebibytes: int) -> None:
    limit = mebibytes * 2**20
    ended = run_process(*inputs.explore, "--no-store", setup=LIMIT % (limit, limit))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: ulimit -v: found {mebibytes} MiB of address space; expected at least 2048 MiB, "
        "with less of which libraries crash\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit it")
def test_the_least_address_space_suffices(inputs: Inputs) -> None:
    limit = LEAST_ADDRESS_SPACE
    store = str(inputs.folder / "s.duckdb")
    ended = run_process(*inputs.explore, "--store", store, setup=LIMIT % (limit, limit))
    assert ended.code == 0, ended.err


NO_THREADS = """
import threading
def start(thread): raise RuntimeError("can't start new thread")
threading.Thread.start = start
"""
NO_MEMORY = """
import nestmap.pipeline.cli.explore as module
def fails(*_): raise MemoryError
module._explored = fails
"""


@pytest.mark.parametrize(("setup", "found"), [(NO_THREADS, "threads"), (NO_MEMORY, "memory")])
def test_what_runs_out_later_is_one_line(
    forks: Forks, inputs: Inputs, setup: str, found: str
) -> None:
    store = str(inputs.folder / "s.duckdb")
    ended = forks.run(*inputs.explore, "--store", store, setup=setup)
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert ended.err.startswith(f"error: {found}: found ")
    assert ended.err.count("\n") == 1


def test_what_led_to_an_error_counts() -> None:
    error = RuntimeError("cannot join thread before it is started")
    assert str(exhausted_resource(error)).startswith("threads: ")
    wrapped = ValueError("closed")
    wrapped.__context__ = MemoryError()
    assert str(exhausted_resource(wrapped)).startswith("memory: ")
    assert exhausted_resource(ValueError("closed")) is None
