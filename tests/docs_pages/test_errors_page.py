"""The page of errors: every case is run, and prints the message that the page shows."""

import re
from pathlib import Path
from typing import Final

import pytest

from nestmap.store.connection import database
from tests.docs.blocks import blocks_in
from tests.docs_pages.errors_page import GIVEN, INTRODUCTION, PAGE, print_case
from tests.docs_pages.page import Section, sections_of, text_of, write_files
from tests.faults.test_store import impatiently
from tests.sweeps import every

CASES: Final = sections_of(text_of(PAGE))
BY_HEADING: Final = {case.heading: case for case in CASES}

ANYTHING: Final = "…"
"""Stands on the page for what is different each time: an id, a process, a path."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the current one; nobody waits for long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "open_with_retry", impatiently)
    return tmp_path


def message_of(case: Section) -> str:
    """The message that the page shows."""
    (shown,) = (block.text for block in case.blocks if block.language == "text")
    return shown


@pytest.mark.parametrize("heading", every(4, [*BY_HEADING]))
def test_a_case_prints_what_the_page_shows(
    heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = BY_HEADING[heading]
    words = " ".join(print_case(case, monkeypatch).split())
    shown = " ".join(message_of(case).split())
    pattern = ".+".join(map(re.escape, shown.split(ANYTHING)))
    assert re.fullmatch(pattern, words), words


def test_every_case_says_what_it_means_and_what_to_do() -> None:
    assert len(CASES) > 40
    for case in CASES:
        prose = re.sub(r"```.*?```|<!--.*?-->", "", case.text, flags=re.DOTALL)
        assert "**Means.**" in prose, case.heading
        assert "**Do.**" in prose, case.heading


def test_what_is_right_says_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python of the introduction, with the three files as they are."""
    blocks = blocks_in(INTRODUCTION)
    write_files(blocks, folder)
    (text,) = (block.text for block in blocks if block.language == "python")
    exec(compile(text, PAGE, "exec"), {})
    assert capsys.readouterr().out == ""


def test_headings_are_different() -> None:
    assert len(BY_HEADING) == len(CASES)


def test_nothing_is_given_for_nobody() -> None:
    wanted = {found for case in CASES for found in re.findall("<!-- given: (.+) -->", case.text)}
    assert wanted == set(GIVEN) - {""}
