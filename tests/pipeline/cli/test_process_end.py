"""The end of commands: at once, after all that Python does at exit that others can see."""

import subprocess
import sys
from pathlib import Path

import pytest

SETUP = """
import atexit, sys, threading, time
from nestmap.pipeline.cli.process_end import end_process

class Freed:
    def __del__(self):
        print("freed")

kept = Freed()
atexit.register(print, "exit function")
sys.stdout.write("unwritten ")
"""


def ran(rest: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SETUP + rest]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_output_is_written_and_exit_functions_run_but_nothing_is_freed() -> None:
    done = ran("end_process(3)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "unwritten exit function\n", "")


def test_threads_are_waited_for() -> None:
    thread = "threading.Thread(target=lambda: (time.sleep(0.2), print('worked '))).start()\n"
    done = ran(f"{thread}end_process(3)\nraise SystemExit(4)")
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout == "unwritten worked \nexit function\nfreed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_output_that_cannot_be_written_is_left_to_python() -> None:
    full = "sys.stdout = open('/dev/full', 'w')\nprint('lost')\n"
    done = ran(f"{full}end_process(3)\nprint('still here', file=sys.stderr)")
    assert done.returncode == 120
    assert done.stderr.startswith("still here\n")


def test_closed_output_is_no_trouble() -> None:
    done = ran("sys.stdout.flush()\nsys.stdout = None\nend_process(0)")
    assert (done.returncode, done.stderr) == (0, "")
