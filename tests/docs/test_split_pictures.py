"""The pictures of computation nodes are those that the commands of the page draw."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nestmap.pipeline.cli.commands import command_line
from tests.docs.blocks import ROOT, blocks_of, commands_of

PAGE = ROOT / "docs" / "multi-core.md"
NAMES = ("rows.svg", "groups.svg")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_its_command_draws(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(PAGE)
    for block in blocks:
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")
    commands = [x for block in blocks if block.language == "console" for x in commands_of(block)]
    (drawing,) = [command for command in commands if name in command.arguments]
    done = CliRunner().invoke(command_line(drawing.arguments[1:]), drawing.arguments[1:])
    assert done.exit_code == 0
    drawn = Path(name).read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "images" / f"split-{name}").read_text(encoding="utf-8")


def test_the_page_shows_all_of_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kept = {path.name for path in (ROOT / "docs" / "images").glob("split-*")}
    assert kept == {f"split-{name}" for name in NAMES}
    assert all(f"images/{name}" in text for name in kept)
