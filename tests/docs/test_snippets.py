"""Every snippet of every document runs: each document in a folder of its own, from top to bottom.

Python, SQL and commands see what those above them have left behind, as the reader's would. What a
document shows of the output of a command is what the command prints. A block with a title is the
file of that name. What cannot run here is listed, with the reason.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final

import pytest
import yaml
from typer.testing import CliRunner

from nestmap.pipeline.cli.commands import command_line
from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.store import DEFAULT_PATH, Store
from tests.docs.blocks import (
    DOCUMENTS,
    ROOT,
    Block,
    Command,
    blocks_of,
    commands_of,
    is_shown,
    name_of,
)
from tests.docs.given import GIVEN

Runner = Callable[[Block, ModuleType], None]

NOT_RUN: Final = (
    (r"pip install ", "changes the environment; needs a package index"),
    (r"make ", "the targets of the Makefile, of which this test is a part"),
    (r"python -m benchmarks\.", "measurements of minutes to hours"),
    (r"nestmap serve ", "serves until it is stopped; tests/pipeline/pages/explorer starts it"),
)
"""Commands that the test leaves out, as patterns, each with the reason."""

ELSEWHERE: Final = MappingProxyType(
    {
        "docs/cost-model.md": "tests/docs_pages/test_cost_model_page.py",
        "docs/errors.md": "tests/docs_pages/test_errors_page.py",
        "docs/input-formats.md": "tests/docs_pages/test_input_formats.py",
        "docs/study.md": "tests/docs_pages/test_study_page.py",
    }
)
"""Documents whose snippets another test runs, in ways of their own."""

SOME_RUN: Final = "5f3a91"
"""Stands for the beginning of the id of an earlier run: ids differ from store to store."""

TEXT: Final = ("text", "math")
"""Blocks that are drawings or formulas."""

FRAGMENTS: Final = MappingProxyType(
    {
        ("docs/accelerators.md", "vector_unit"): "tpu_like",
        ("docs/imc.md", "operational_array"): "aimc",
    }
)
"""Parts of a description, by document and first field: read as a part of that accelerator."""

OTHER_YAML: Final = MappingProxyType(
    {
        ("docs/accelerators.md", "technology"): "omits ports, as it says",
        ("docs/coming-from-timeloop.md", "architecture"): "Timeloop's format",
    }
)
"""YAML that is no whole description, by document and first field, with the reason."""


HERE: Final = [document for document in DOCUMENTS if name_of(document) not in ELSEWHERE]


READ_FIRST: Final = ("README.md", "docs/start.md", "docs/searching.md", "docs/pipelines.md")
"""Documents whose snippets run in ``make test``, too."""


@pytest.mark.parametrize(
    "document",
    [pytest.param(x, marks=() if name_of(x) in READ_FIRST else pytest.mark.stress) for x in HERE],
    ids=name_of,
)
def test_its_snippets_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = name_of(document)
    monkeypatch.chdir(tmp_path)
    for prepare in GIVEN.get(name, ()):
        prepare()
    module = ModuleType("snippets")
    monkeypatch.setitem(sys.modules, "snippets", module)
    for block in blocks_of(document):
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")
        where = f"{name}:{block.line}"
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), vars(module))
        elif block.language == "sql":
            with Store.open_read_only(DEFAULT_PATH) as store:
                assert len(store.query(block.text)) > 0, where
        elif block.language == "console":
            for command in commands_of(block):
                run(command, where)
        elif block.language == "yaml":
            read(block, name)
        else:
            assert block.language in TEXT, f"{where}: what is {block.language!r}?"


@pytest.mark.parametrize(("document", "test"), ELSEWHERE.items())
def test_another_test_runs_the_rest(document: str, test: str) -> None:
    assert (ROOT / document).is_file()
    assert (ROOT / test).is_file()


def run(command: Command, where: str) -> None:
    """Runs a command, unless it is left out; it succeeds and prints what is shown."""
    if any(re.match(pattern, command.text) for pattern, _ in NOT_RUN):
        return
    program, *arguments = command.arguments
    assert program == "nestmap", f"{where}: {command.text}"
    words = [_first_run() if x == SOME_RUN else x for x in arguments]
    done = CliRunner().invoke(command_line(words), words)
    assert done.exit_code == 0, f"{where}: {command.text}\n{done.output}"
    printed = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    shown = not command.shown or is_shown(command.shown, printed)
    assert shown, f"{where}: {command.text} prints\n" + "\n".join(printed)


def read(block: Block, name: str) -> None:
    """Reads YAML: a file is read by the command that follows, a part of one here."""
    content = yaml.safe_load(_without_tags(block.text))
    if block.title is not None:
        return
    key = (name, next(iter(content)))
    if key in OTHER_YAML:
        return
    assert key in FRAGMENTS, f"{name}:{block.line}: give it a title, or list {key}"
    whole = yaml.safe_load(resolve_accelerator(FRAGMENTS[key]).read_text(encoding="utf-8"))
    for field, value in content.items():
        whole[field] = {**whole.get(field, {}), **value} if isinstance(value, Mapping) else value
    part = Path("part.yaml")
    part.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")
    parse_accelerator(part)


def _first_run() -> str:
    with Store.open_read_only(DEFAULT_PATH) as store:
        return str(store.runs()[0].id)


def _without_tags(text: str) -> str:
    return re.sub(r"!\w+", "", text)
