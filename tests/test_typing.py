"""mypy accepts the good pipelines, infers their types and rejects every mis-wired one."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from nestmap.pipeline import Stage, stages

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "tests" / "typing"
IGNORED = re.compile(r"  # type: ignore\[[a-z-]+\]$")


def mypy(path: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says about a file, with the settings of this repository."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("program", ["wired.py", "user_api.py"])
def test_good_programs_type_check(program: str) -> None:
    checked = mypy(PROGRAMS / program)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_ignored_line_needs_its_ignore() -> None:
    checked = mypy(PROGRAMS / "miswired.py")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_mis_wiring_is_an_error_of_its_own(tmp_path: Path) -> None:
    lines = (PROGRAMS / "miswired.py").read_text().splitlines()
    bare = tmp_path / "miswired.py"
    bare.write_text("\n".join(IGNORED.sub("", line) for line in lines) + "\n")
    expected = {number for number, line in enumerate(lines, 1) if IGNORED.search(line)}
    found = re.findall(r"miswired\.py:(\d+): error:", mypy(bare).stdout)
    assert {int(number) for number in found} == expected
    assert len(expected) >= 12


def stage_names() -> list[str]:
    """The names of all stages that ``pipeline/stages`` defines."""
    modules = [import_module(f"{stages.__name__}.{x.name}") for x in iter_modules(stages.__path__)]
    return sorted(
        name
        for module in modules
        for name, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Stage) and member.__module__ == module.__name__
    )


@pytest.mark.parametrize("program", ["wired.py", "miswired.py"])
def test_every_stage_appears_in_both_programs(program: str) -> None:
    tree = ast.parse((PROGRAMS / program).read_text())
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert set(stage_names()) <= used
    assert "each" in used
