"""The fuzzers of ``make stress`` run, a few cases each; cases that found something are tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

FEW = {"onnx": 20, "yaml": 20, "cores": 10, "sql": 3, "http": 3}


@pytest.mark.parametrize("fuzzer", FEW)
def test_a_few_cases_of_each_are_answered_or_refused(fuzzer: str) -> None:
    command = (sys.executable, "-m", "benchmarks.fuzz", fuzzer, "--cases", str(FEW[fuzzer]))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{FEW[fuzzer]} cases of seed 0" in done.stdout
    assert "failures 0" in done.stdout
