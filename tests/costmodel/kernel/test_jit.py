"""Compiled kernels are the plain functions that they are made from."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.evaluate_rows import evaluate_row, load_row
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel import jit
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


def test_a_signal_during_a_kernel_is_no_error_of_it() -> None:
    @jit.kernel
    def interrupted() -> int:
        inner = SystemError("_numba_unpickle returned a result with an exception set")
        inner.__cause__ = KeyboardInterrupt()
        raise SystemError("CPUDispatcher returned a result with an exception set") from inner

    @jit.kernel
    def broken() -> int:
        raise SystemError("another one")

    for function, error in ((interrupted, KeyboardInterrupt), (broken, SystemError)):
        function.__dict__["_entry"] = plain(function)
        with pytest.raises(error):
            function()


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


def test_declaring_kernels_does_not_import_numba() -> None:
    program = "import sys, nestmap.search.temporal.exact.search; print('numba' in sys.modules)"
    assert run(["-c", program], {}).split() == ["False"]
