"""One worker runs the tests of a file or folder that share something."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import TOGETHER, group_of

ROOT = Path(__file__).parents[1]


def test_groups_are_files_and_the_folders_that_share_something() -> None:
    assert group_of("tests/model/test_errors.py::test_a[x::y]") == "tests/model/test_errors.py"
    assert group_of("tests/browser/test_pages.py::test_b") == "tests/browser/"
    assert all((ROOT / folder).is_dir() for folder in TOGETHER)


@pytest.mark.stress
def test_one_worker_runs_all_tests_of_a_file() -> None:
    files = [f"tests/model/test_{name}.py" for name in ("content_hash", "display", "errors")]
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", *files]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    ran = set(re.findall(r"\[(gw\d)\].* (tests/\S+?\.py)::", done.stdout))
    assert sorted(file for _, file in ran) == files
