"""The fenced blocks of the documents."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = (
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/NOTES.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
)

_FENCE: Final = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?[^\n]*\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_PROMPT: Final = "$ "
_CUT: Final = "..."


@final
@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it stands for, its text and its first line."""

    language: str
    title: str | None
    text: str
    line: int


@final
@dataclass(frozen=True)
class Command:
    """A line behind a prompt, taken apart, and what the document shows of its output."""

    text: str
    arguments: tuple[str, ...]
    shown: tuple[str, ...]


def name_of(document: Path) -> str:
    """How tests call a document."""
    return document.relative_to(ROOT).as_posix()


def blocks_of(document: Path) -> tuple[Block, ...]:
    """The fenced blocks of a document, from top to bottom."""
    return blocks_in(document.read_text(encoding="utf-8"))


def blocks_in(text: str) -> tuple[Block, ...]:
    """The fenced blocks of a text, from top to bottom."""
    return tuple(
        Block(x["language"], x["title"], x["text"], text.count("\n", 0, x.start()) + 2)
        for x in _FENCE.finditer(text)
    )


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block; one goes on until its quotes are closed."""
    lines = block.text.splitlines()
    while lines:
        first = lines.pop(0)
        assert first.startswith(_PROMPT), f"line {block.line}: {first!r} is no command"
        text = first.removeprefix(_PROMPT)
        while (arguments := _taken_apart(text)) is None:
            text = f"{text}\n{lines.pop(0)}"
        shown: list[str] = []
        while lines and not lines[0].startswith(_PROMPT):
            shown.append(lines.pop(0).rstrip())
        yield Command(text, tuple(arguments), tuple(shown))


def is_shown(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether the lines are those printed, but for what stands where ``...`` is shown."""
    at, skipping = 0, False
    for line in shown:
        if line == _CUT:
            skipping = True
            continue
        while skipping and at < len(printed) and printed[at] != line:
            at += 1
        if at == len(printed) or printed[at] != line:
            return False
        at, skipping = at + 1, False
    return skipping or at == len(printed)


def _taken_apart(text: str) -> list[str] | None:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote is open
        return None
