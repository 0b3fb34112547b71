"""Compiled kernels are the plain functions that they are made from."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import ParamSpec, Protocol, TypeVar, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap import search
from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.evaluate_rows import evaluate_row, load_row
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import digest_of, kernel_digest
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Totals, Work
from nestmap.model import MappingBatch
from nestmap.model.workload import affine
from tests.costmodel import sample
from tests.costmodel.machines import ordered
from tests.properties.variants import examples

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

ROOT = Path(__file__).parents[3]


class Compiled(Protocol[P, R]):
    """What Numba makes of a function."""

    @property
    def py_func(self) -> Callable[P, R]:
        """The function it was made from."""
        ...


def plain(kernel: Callable[P, R]) -> Callable[P, R]:
    """The function that a kernel was made from."""
    return cast(Compiled[P, R], kernel).py_func


def run(arguments: list[str], settings: dict[str, str]) -> str:
    """What Python prints, with other environment variables."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = os.environ | {"PYTHONPATH": paths} | settings
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_without_compilation_the_numbers_are_the_same() -> None:
    output = run(["-m", "tests.costmodel.sample"], {"NUMBA_DISABLE_JIT": "1"})
    expected = sample.numbers()
    assert len(expected) > 100
    assert json.loads(output) == expected


sizes = st.integers(1, 200).map(float)
steps = st.integers(1, 9)


@examples
@given(sizes, sizes, steps, steps)
def test_a_kernel_is_its_plain_function(a: float, b: float, step_a: int, step_b: int) -> None:
    assert plain(distinct_values) is affine.distinct_values
    expected = affine.distinct_values(a, b, step_a, step_b)
    assert distinct_values(a, b, step_a, step_b) == expected


def test_the_outer_kernel_can_be_stepped_through() -> None:
    spatial = sample.problems()[0]
    order = ordered("K 2 C 6", {"O": (1, 2), "W": (0, 1, 2), "I": (2, 2)})
    batch = MappingBatch.of(spatial, order)
    problem, table = flatten(spatial), factor_table(spatial, batch.factors)
    totals = list[Totals]()
    for kernel in (evaluate_row, plain(evaluate_row)):
        work = new_record(Work)
        load_row(work, table, batch.orders[0], batch.cuts[0])
        totals.append(kernel(problem, work))
    assert totals[0] == totals[1]
    assert np.isfinite(totals[0]).all()


COMPILE = """
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import is_compiled
print(is_compiled(distinct_values))
distinct_values(1.0, 1.0, 1, 1)
print(is_compiled(distinct_values))
"""


@pytest.fixture(scope="module")
def first_and_second(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What the program prints where nothing is cached, and what it does then; with Numba or not."""
    folder = tmp_path_factory.mktemp("caches")
    fresh = {"XDG_CACHE_HOME": str(folder), "NUMBA_CACHE_DIR": ""}
    program = f"{COMPILE}\nimport sys; print('numba' in sys.modules)"
    return [run(["-c", program], fresh).split() for _ in range(2)]


def test_what_was_compiled_is_found_again(first_and_second: list[list[str]]) -> None:
    first, second = first_and_second
    assert first[:2] == ["False", "True"]
    assert second[:2] == ["True", "True"]


CALLEE = """
import numpy as np
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import kernel
@kernel
def outer(x):
    return distinct_values(x, 1.0, 1, 1) + 1
assert outer(4.0) == distinct_values(4.0, 1.0, 1, 1) + 1 == 5
"""


def test_a_kernel_is_cached_only_where_python_calls_it(tmp_path: Path) -> None:
    fresh = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import callee_kernel"
    (tmp_path / "callee_kernel.py").write_text(CALLEE.rsplit("assert", 1)[0] + "outer(4.0)")
    run(["-c", program], fresh)
    cached = [file.name.split("-")[0] for file in (tmp_path / "cache").rglob("*.kernel")]
    assert cached == ["outer"]
    (tmp_path / "callee_kernel.py").write_text(CALLEE)
    run(["-c", program], fresh)


def test_what_was_compiled_is_called_without_numba(first_and_second: list[list[str]]) -> None:
    assert [printed[-1] for printed in first_and_second] == ["True", "False"]


def test_declaring_kernels_does_not_import_numba() -> None:
    program = "import sys, nestmap.search.temporal.exact.search; print('numba' in sys.modules)"
    assert run(["-c", program], {}).split() == ["False"]


def declared_kernels() -> list[object]:
    """All kernels of the package, those of the scheduler too."""
    for found in pkgutil.walk_packages(search.__path__, "nestmap.search."):
        import_module(found.name)
    modules = [m for m in list(sys.modules.values()) if m.__name__.startswith("nestmap.")]
    return [x for m in modules for x in vars(m).values() if hasattr(x, "py_func")]


def test_the_digest_of_a_kernel_is_that_of_its_function() -> None:
    kernels = declared_kernels()
    assert len(kernels) > 100
    for kernel in kernels:
        function = cast(Compiled[..., object], kernel).py_func
        assert isinstance(function, FunctionType)
        assert kernel_digest(kernel) == digest_of(function), function


KINDS = (int, float, type, ModuleType)
"""What kernels take from their modules, next to other kernels."""


def test_kernels_take_from_their_modules_only_what_is_in_the_digest() -> None:
    for kernel in declared_kernels():
        function = cast(Compiled[..., object], kernel).py_func
        assert isinstance(function, FunctionType)
        taken = [function.__globals__.get(name) for name in function.__code__.co_names]
        for value in taken:
            assert value is None or hasattr(value, "py_func") or isinstance(value, KINDS)
            assert not getattr(value, "__name__", "").startswith("nestmap.")


INNER = """
from nestmap.costmodel.kernel.jit import kernel
@kernel
def inner(x):
    return x + 1
SIZE = 3
"""
OUTER = """
from inner_kernel import SIZE, inner
from nestmap.costmodel.kernel.jit import kernel_digest, kernel
@kernel
def outer(x):
    return inner(x) + SIZE
print(kernel_digest(outer))
"""


def digest_with(inner: str, folder: Path) -> str:
    """The digest of a kernel that calls another one with this text."""
    (folder / "outer_kernel.py").write_text(OUTER)
    (folder / "inner_kernel.py").write_text(inner)
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import outer_kernel"
    return run(["-c", program], {"PYTHONDONTWRITEBYTECODE": "1"})


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest before a change."""
    return digest_with(INNER, tmp_path_factory.mktemp("before"))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [("", "", True), ("x + 1", "x + 2", False), ("SIZE = 3", "SIZE = 4", False)],
)
def test_a_change_of_an_inner_kernel_or_a_constant_gives_another_folder(
    tmp_path: Path, digest: str, before: str, after: str, same: bool
) -> None:
    assert (digest_with(INNER.replace(before, after), tmp_path) == digest) is same
