"""``nestmap report``: one HTML file about runs, from the store alone."""

from pathlib import Path

import pytest

from nestmap.store import Store
from tests.pipeline.cli.inputs import Inputs, explored, run, run_process
from tests.pipeline.pages.report.dom import captioned, read

STORE = Path("nestmap.duckdb")


def test_a_report(inputs: Inputs) -> None:
    explored(inputs)
    ended = run("report", "last")
    assert (ended.code, ended.out, ended.err) == (0, "", "Written to report.html.\n")
    tree = read(Path("report.html").read_text(encoding="utf-8"))
    with Store.open_read_only(STORE) as store:
        best = store.best(store.find_run("last"))
    (table,) = (x for x in tree.every("table") if "sortable" in x.classes())
    assert table.one("tfoot").text.startswith("2 total")
    assert captioned(tree, "Layers of net on tiny").last("Energy") == best.energy


def test_several_runs(inputs: Inputs) -> None:
    explored(inputs)
    explored(inputs, "--objective", "energy")
    with Store.open_read_only(STORE) as store:
        first = str(store.runs()[0].id)
    assert run("report", "last", first, "-o", "both.html").code == 0
    tree = read(Path("both.html").read_text(encoding="utf-8"))
    assert [x.text for x in tree.every("h1")] == ["2 runs compared", *["net on tiny"] * 2]


def test_the_store_is_not_written_over(inputs: Inputs) -> None:
    explored(inputs)
    before = STORE.read_bytes()
    ended = run("report", "last", "-o", str(STORE))
    assert ended.code == 2
    assert "which is used already; expected a different file" in ended.err
    assert STORE.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "nope"), "run 'nope': found no such run"),
        (("report", "last", "last"), "expected each run once"),
        (("report", "last", "-o", "no/such/report.html"), "found no folder"),
        (("report", "last", "--store", "other.duckdb"), "other.duckdb"),
    ],
)
def test_wrong_input(inputs: Inputs, arguments: tuple[str, ...], words: str) -> None:
    explored(inputs)
    ended = run(*arguments)
    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert not Path("report.html").exists()


def test_without_what_makes_it(inputs: Inputs) -> None:
    explored(inputs)
    hidden = "import sys\nsys.modules['jinja2'] = None"
    ended = run_process("report", "last", setup=hidden)
    assert ended.code == 2
    assert ended.err == (
        "error: report: found no jinja2 in this Python; expected what "
        "`pip install 'nestmap[report]'` installs\n"
    )


def test_to_a_device(inputs: Inputs) -> None:
    explored(inputs)
    ended = run_process("report", "last", "-o", "/dev/stdout")
    assert ended.code == 0
    assert ended.out.startswith("<!doctype html>")


def test_other_commands_do_without_it(inputs: Inputs) -> None:
    explored(inputs)
    check = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(sorted({'jinja2', 'vl_convert'} & set(sys.modules))))"
    )
    ended = run_process("explain", "last", "first", setup=check)
    assert ended.out.splitlines()[-1] == "[]"
