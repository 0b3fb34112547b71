"""Only the commands that are asked for are declared; help declares all."""

import typer
from typer.main import get_command

from nestmap.pipeline.cli.commands import COMMANDS, command_line
from tests.pipeline.cli.inputs import run


def declared(*words: str) -> set[str]:
    """The commands that are declared for some words."""
    group = get_command(command_line(words))
    return set(group.list_commands(typer.Context(group)))  # type: ignore[attr-defined]


def test_each_module_declares_the_commands_of_the_table() -> None:
    everything = {"examples"}
    for names in COMMANDS.values():
        for name in names:
            assert declared(name, "--help") == {"examples", *names}
        everything |= set(names)
    for words in ((), ("--help",), ("examples",), ("explor",)):
        assert declared(*words) == everything


def test_a_misspelt_command_is_told_the_nearest_one() -> None:
    assert "explore" in run("explor", "light:resnet50").err
