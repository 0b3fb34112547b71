"""The fuzzers of ``make stress`` run, a few cases each; cases that found something are tests."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import pytest
from benchmarks.fuzz import harness
from numba.core import event

FEW = {"onnx": 20, "yaml": 20, "cores": 10, "http": 3}

# One process for all: each would import the same for a second.
RUN = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from benchmarks.fuzz.__main__ import main
ended = {}
for fuzzer, cases in json.loads(sys.argv[1]).items():
    sys.argv[1:] = [fuzzer, "--cases", str(cases)]
    code = 0
    with redirect_stdout(StringIO()) as out:
        try:
            main()
        except SystemExit as error:
            code = error.code
    ended[fuzzer] = code, out.getvalue()
print(json.dumps(ended))
"""

Ended = Mapping[str, tuple[int, str]]


@pytest.fixture(scope="module")
def ended() -> Ended:
    """The exit code of each fuzzer and what it prints."""
    command = (sys.executable, "-c", RUN, json.dumps(FEW))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Ended = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("fuzzer", FEW)
@pytest.mark.stress
def test_a_few_cases_of_each_are_answered_or_refused(ended: Ended, fuzzer: str) -> None:
    code, out = ended[fuzzer]
    assert code == 0, out
    assert f"{FEW[fuzzer]} cases of seed 0" in out
    assert "failures 0" in out


def test_compiling_is_no_fault_of_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is the test's: nothing depends on the machine."""
    now = [0.0]
    trigger: Callable[..., AbstractContextManager[None]] = vars(event)["trigger_event"]

    def compiled(draw: random.Random) -> str:
        with trigger("numba:compile", data={}):
            now[0] += 50
        now[0] += draw.choice([3.0])
        return "explored"

    def slow(draw: random.Random) -> str:
        now[0] += draw.choice([11.0])
        return "explored"

    monkeypatch.setattr(harness, "_cpu_seconds", lambda: now[0])
    monkeypatch.setattr(event, "timer", lambda: now[0])
    measured = (harness.measured(case, harness.draw_of(0, 0)) for case in (compiled, slow))
    assert [x.kind for x in measured] == ["explored", "SLOW"]
