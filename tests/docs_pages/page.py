"""A page of the documentation taken apart, section by section."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from tests.docs.blocks import Block, blocks_in

DOCS: Final = Path(__file__).parents[2] / "docs"

_HEADING: Final = re.compile(r"^### (.+)$", re.MULTILINE)


@final
@dataclass(frozen=True)
class Section:
    """What stands under a heading of the third level."""

    heading: str
    text: str
    blocks: tuple[Block, ...]


def text_of(name: str) -> str:
    """The Markdown of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def sections_of(text: str) -> tuple[Section, ...]:
    """The sections of a text, up to the next heading of the second or third level."""
    _, *parts = _HEADING.split(text)
    return tuple(
        Section(heading=heading, text=body, blocks=blocks_in(body))
        for heading, body in zip(
            parts[::2], (part.split("\n## ")[0] for part in parts[1::2]), strict=True
        )
    )


def write_files(blocks: tuple[Block, ...], folder: Path) -> None:
    """Writes the blocks that stand for files."""
    for block in blocks:
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
