"""The example notebook of the documentation: it runs, and shows what is kept in it."""

import json
import re
from functools import cache
from itertools import chain

import pytest

from tests.notebooks.execute import EXAMPLE, Notebook, Output, execute, read

NOT_COMPARED = {"image/svg+xml"}
"""Kinds of output whose bytes depend on the version of Vega."""

NEW_EACH_TIME = {
    "ids": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}",
    "objects": r"\bat 0x[0-9a-f]+",
    "times": r"\d{2}:\d{2}:\d{2}",
    "places": r"(?<![\w</])/(?:\w+/)+",
}


@cache
def stored_notebook() -> Notebook:
    return read(EXAMPLE)


@cache
def executed_notebook() -> Notebook:
    return execute(EXAMPLE)


def shown(notebook: Notebook) -> list[list[Output]]:
    """What each cell that runs shows."""
    return [cell.get("outputs", []) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text_of(output: Output) -> dict[str, str]:
    """What an output says in text, by kind; of others, that they are there."""
    data = output.get("data", {}) | {"printed": output.get("text", [])}
    return {kind: "" if kind in NOT_COMPARED else "".join(text) for kind, text in data.items()}


def test_it_shows_what_is_kept() -> None:
    for then, now in zip(shown(stored_notebook()), shown(executed_notebook()), strict=True):
        assert [text_of(x) for x in now] == [text_of(x) for x in then]


def test_nothing_warns_or_fails() -> None:
    kinds = [output["output_type"] for output in chain.from_iterable(shown(executed_notebook()))]
    assert kinds
    assert set(kinds) == {"execute_result"}


def test_all_kinds_of_output_are_there() -> None:
    outputs = chain.from_iterable(shown(stored_notebook()))
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") >= 3
    assert kinds.count("text/html") >= 8
    assert set(kinds) == {"image/svg+xml", "text/html"}


@pytest.mark.parametrize("what", NEW_EACH_TIME)
def test_nothing_is_kept_that_is_new_each_time(what: str) -> None:
    outputs = chain.from_iterable(shown(stored_notebook()))
    said = " ".join(text for output in outputs for text in text_of(output).values())
    assert not re.findall(NEW_EACH_TIME[what], said)


def test_the_file_is_what_the_script_writes() -> None:
    assert executed_notebook()["metadata"] == stored_notebook()["metadata"]
    assert all(cell["metadata"] == {} for cell in stored_notebook()["cells"])
    assert EXAMPLE.read_text() == json.dumps(stored_notebook(), indent=1, ensure_ascii=False) + "\n"
