"""How all tests run: what is costly to prepare is prepared once, and Hypothesis has no deadlines.

The first example compiles kernels, and machines are shared. ``make test`` draws the same examples
each time, so that a change fails for what it changed, and a sixth of those that ``make stress``
(``NESTMAP_STRESS=1``) draws with a seed.
"""

import gc
import os
import signal
import sys

import pytest
from hypothesis import settings
from xdist.remote import Producer

from nestmap.costmodel.kernel import jit
from tests.scheduling import GroupScheduling
from tests.sweeps import STRESS, some_of

# What a test starts reads bytecode that another test left, even where PYTHONDONTWRITEBYTECODE is
# set; without it, each process compiles all modules (0.3 CPU s).
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Shells let what they run in the background ignore Ctrl-C, and so would the commands under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# BLAS would run as many threads as there are processors in each of the workers of pytest-xdist.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("nestmap", deadline=None, derandomize=True, max_examples=some_of(100))
settings.register_profile("stress", deadline=None)
settings.load_profile("stress" if STRESS else "nestmap")


@pytest.fixture(autouse=True)
def _nothing_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do not say that they compile: which test compiles a kernel depends on the order."""

    def is_compiled(_kernel: object) -> bool:
        return True

    monkeypatch.setattr(jit, "is_compiled", is_compiled)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Workers take groups of tests, whatever ``--dist`` says."""
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests marked ``stress`` to ``make stress``."""
    if not STRESS:
        config.hook.pytest_deselected(items=[x for x in items if x.get_closest_marker("stress")])
        items[:] = [x for x in items if not x.get_closest_marker("stress")]


def pytest_collection_finish() -> None:
    """Python need not look for garbage among the tests and modules, again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def pytest_sessionfinish() -> None:
    """What the collector does not see at the end counts as leaked."""
    gc.unfreeze()
