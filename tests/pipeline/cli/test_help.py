"""Help and version: there for every command, and quick because nothing heavy is imported."""

import sys
from enum import StrEnum
from importlib.metadata import version
from typing import get_args

import pytest

from nestmap.model import MappingType, Objective
from nestmap.model.multicore.schedule import CandidateRule
from nestmap.pipeline.cli.options.common import DEFAULT_STORE
from nestmap.pipeline.explore.options import MappingTypeName, ObjectiveName, RankName
from nestmap.pipeline.multicore.options import EngineName, RuleName
from nestmap.pipeline.multicore.plan import Engine
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.store import DEFAULT_PATH
from tests.pipeline.cli.inputs import run, run_process

HEAVY = {"duckdb", "networkx", "numba", "numpy", "onnx", "pyarrow", "pydantic", "rich", "yaml"}


def test_version() -> None:
    ended = run("--version")
    assert (ended.code, ended.out) == (0, f"nestmap {version('nestmap')}\n")


def test_help_names_every_command_and_gives_an_example() -> None:
    ended = run("--help")
    assert ended.code == 0
    commands = ("show", "explore", "evaluate", "explain", "query", "examples")
    for text in (*commands, "light:resnet50 --accelerator"):
        assert text in ended.out


def test_without_a_command_help_is_shown() -> None:
    ended = run()
    assert "Usage:" in ended.out + ended.err


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("explore", ["--dim", "--float-bits", "--accelerator", "--mapping", "--objective",
                     "--lpf-limit", "--mapping-type", "--search", "--spatial-mappings", "--mixed",
                     "--rank", "--keep-on-chip", "--prune", "--pareto", "--seed", "--workers",
                     "--store", "--no-store", "--json", "--save-mapping"]),
        ("show", ["--accelerator", "--dim", "--float-bits", "--graph", "--json", "--all"]),
        ("evaluate", ["--dim", "--float-bits", "--layer", "--accelerator", "--mapping", "--order",
                      "--cut", "--mapping-file", "--json"]),
        ("query", ["--store", "--format"]),
        ("stream", ["--cores", "--hint-loops", "--rule", "--engine", "--generations",
                    "--schedule", "--trace"]),
        ("examples", []),
    ],
)  # fmt: skip
def test_help_of_a_command_names_its_options(command: str, options: list[str]) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    for option in options:
        assert option in ended.out


@pytest.mark.parametrize("command", ["show", "explore", "evaluate", "query", "stream"])
def test_examples_keep_their_lines(command: str) -> None:
    lines = [line.strip() for line in run(command, "--help").out.splitlines()]
    assert "Examples:" in lines
    assert f"nestmap {command}" in {" ".join(line.split()[:2]) for line in lines}


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        ("explore", ["Arguments", "Network and accelerator", "Search", "Record", "Output"]),
        ("stream", ["Arguments", "Network and accelerator", "Splitting", "Search", "Output"]),
    ],
)
def test_options_are_in_groups(command: str, groups: list[str]) -> None:
    lines = run(command, "--help").out.splitlines()
    titles = [x.removesuffix(":") for x in lines if x.endswith(":") and not x.startswith(" ")]
    assert [x for x in titles if x in groups] == groups
    assert titles[-1] == "Options"
    assert lines[0].endswith(f" {command} [OPTIONS] WORKLOAD")


@pytest.mark.parametrize("words", [["-h"], ["explore", "-h"], ["db", "-h"], ["db", "check", "-h"]])
def test_h_is_help(words: list[str]) -> None:
    assert run(*words).out == run(*words[:-1], "--help").out != ""


def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 110):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = run_process("query", "--help").out.split("Examples:")[0]
        assert columns - 12 < max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["nestmap", "expl"], {"explore", "explain"}),
        (["nestmap", "explore", "-a", "tp"], {"tpu_like"}),
        (["nestmap", "explore", "-m", "fr"], {"free"}),
        (["nestmap", "stream", "-c", "quad"], {"quad_hetero", "quad_tpu"}),
        (["nestmap", "show", "bert-b"], {"bert-base", "bert-base-block"}),
    ],
)
def test_shells_complete_commands_and_bundled_names(
    words: list[str], found: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_NESTMAP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert set(run_process(setup="import sys; sys.argv[0] = 'nestmap'").out.split()) == found


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["explore", "--help"], ["frob"]])
def test_nothing_heavy_is_imported_before_a_command_runs(arguments: list[str]) -> None:
    # typer itself uses pydantic for the options of a command, or rich, depending on its version
    heavy = HEAVY if arguments[0].startswith("--") else HEAVY - {"pydantic", "rich"}
    tell = f"""
import atexit, sys
atexit.register(lambda: print({heavy} & sys.modules.keys(), file=sys.stderr))
"""
    assert run_process(*arguments, setup=tell).err.endswith("set()\n")


@pytest.mark.parametrize(
    ("names", "members"),
    [
        (ObjectiveName, Objective),
        (MappingTypeName, MappingType),
        (RankName, Rank),
        (RuleName, CandidateRule),
        (EngineName, Engine),
    ],
)
def test_choices_are_those_of_the_model(names: object, members: type[StrEnum]) -> None:
    assert set(get_args(names)) == {str(x) for x in members}


def test_the_store_is_that_of_the_facade() -> None:
    assert DEFAULT_STORE == DEFAULT_PATH


def test_running_a_command_imports_what_help_must_not() -> None:
    run("explore", "nowhere.yaml", "-a", "tpu_like")
    # no ONNX file was read, no graph made, no kernel run
    imported = sys.modules.keys() | {"onnx", "networkx", "numba"}
    assert imported >= HEAVY  # so the names are right
