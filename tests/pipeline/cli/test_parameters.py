"""Commands made of records: what a record holds when options are given, or none."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeVar, final

import pytest
import typer
from typer.testing import CliRunner

from nestmap.pipeline.cli.options.multicore import SplitArguments
from nestmap.pipeline.cli.parameters import add_command
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.multicore.options import StreamOptions
from nestmap.pipeline.util.option import Option

R = TypeVar("R")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Options within options."""

    sizes: Annotated[tuple[int, ...], Option(help="Sizes.", flags="--size -s", minimum=1)] = ()
    wanted: Annotated[bool, Option(help="Wanted.")] = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """Options of all kinds."""

    file: Annotated[Path, Option(help="A file.", metavar="FILE", is_argument=True)]
    others: Annotated[tuple[Path, ...], Option(help="More.", is_argument=True)] = ()
    inner: Inner
    kind: Annotated[
        Literal["one", "other"] | StrEnum | None, Option(help="Kind.", default="one")
    ] = None


def given(record: type[R], *arguments: str) -> R:
    """The record that a command gets."""
    seen: list[R] = []

    def command(options: R) -> None:
        """A command."""
        seen.append(options)

    app = typer.Typer(rich_markup_mode=None)
    add_command(app, command, record, "  example")
    ended = CliRunner().invoke(app, list(arguments))
    assert ended.exit_code == 0, ended.output
    return seen[0]


def test_each_parameter_is_a_field() -> None:
    made = given(Outer, "a", "b", "c", "-s", "1", "--size", "2", "--wanted", "--kind", "other")
    assert made == Outer(
        file=Path("a"),
        others=(Path("b"), Path("c")),
        inner=Inner(sizes=(1, 2), wanted=True),
        kind="other",
    )


def test_what_is_not_given_has_its_default() -> None:
    assert given(Outer, "a") == Outer(file=Path("a"), inner=Inner(), kind="one")


@pytest.mark.parametrize("arguments", [[], ["a", "--kind", "third"], ["a", "--size", "0"]])
def test_what_is_not_possible_is_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(AssertionError, match="Usage"):
        given(Outer, *arguments)


def test_defaults_of_the_command_line_are_those_of_python() -> None:
    assert SearchPlan.of(given(SearchOptions)) == SearchPlan.of(SearchOptions())
    annealed = SearchPlan.of(given(SearchOptions, "--search", "salsa"))
    assert annealed == SearchPlan.of(SearchOptions(search="salsa"))
    assert given(StreamOptions) == StreamOptions()
    assert given(SplitArguments) == SplitArguments()
