"""``nestmap sweep``: the table, the files, the exit codes."""

import json
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

import nestmap
from nestmap.pipeline.cli import progress_line
from nestmap.pipeline.cli.progress_line import ProgressLine
from nestmap.pipeline.cli.sweep import SweepBar
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.pipeline.sweep.result.result_table import front_table
from tests.pipeline.cli.inputs import run
from tests.pipeline.sweep.spaces import SPACE, write_space


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_space(tmp_path, SPACE.replace("[1, 2, 4]", "[1, 2]"))


def test_prints_the_front_of_the_python_call(file: Path) -> None:
    ended = run("sweep", str(file))
    assert ended.code == 0
    found = nestmap.sweep(file)
    assert "\n".join(x.text for x in table_lines(front_table(found.summary))) in ended.out
    front = {x.number for x in found.front}
    assert f"12 designs explored, {len(front)} on the front" in ended.out
    assert "each layer is mapped for energy, latency, edp in turn." in " ".join(ended.out.split())
    assert "Explored 12 designs in" in ended.err


def test_writes_all_designs_and_the_front(file: Path, tmp_path: Path) -> None:
    table, folder = tmp_path / "designs.json", tmp_path / "front"
    ended = run("sweep", str(file), "-o", str(table), "--save-front", str(folder))
    assert ended.code == 0
    rows = json.loads(table.read_text())
    assert [x["design"] for x in rows] == [n // 3 for n in range(36)]
    front = [x for x in rows if x["on_front"]]
    assert {x.name for x in folder.iterdir()} == {f"{x['design']}.yaml" for x in front}
    for row in front:
        made = folder / f"{row['design']}.yaml"
        again = nestmap.explore(tmp_path / "net.yaml", made, objective=row["mapped_for"])
        assert again.energy == row["networks"][0]["energy"]


def test_draws_the_figures_for_which_there_are_designs(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    ended = run("sweep", str(file), "--plot", str(folder))
    assert ended.code == 0
    assert {x.name for x in folder.iterdir()} == {"designs.png", "parameters.png", "parallel.png"}
    assert "No chart importance: " in ended.err
    assert "found 12 feasible designs; expected 20 or more" in " ".join(ended.err.split())
    write_space(tmp_path, SPACE.replace("[1, 2, 4]", "[1, 2, 4, 8]"))
    assert run("sweep", str(file), "--plot", str(folder)).code == 0
    assert (folder / "importance.png").is_file()


def test_options_of_the_search_and_the_choice_count(file: Path) -> None:
    words = ("--strategy", "random", "--designs", "3", "--design-seed", "5")
    ended = run("sweep", str(file), *words, "--lpf-limit", "3", "--objective", "latency")
    assert "3 designs of 12 explored" in ended.out
    assert "each layer is mapped for latency" in ended.out


def test_without_a_feasible_design_the_exit_code_is_3(tmp_path: Path) -> None:
    text = SPACE.replace("memories.outlet.size: bits", "memories.reg.size: 8")
    ended = run("sweep", str(write_space(tmp_path, text)))
    assert ended.code == 3
    assert "18 have no figures:" in ended.out
    assert "reg too small for O" in ended.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--designs", "3"), "designs cannot be combined with the strategy grid"),
        (("--strategy", "random"), "found no number of designs"),
        (("--format", "csv"), "--format cannot be combined with no --output"),
        (("-o", "x.pdf"), "the suffix '.pdf'"),
        (("--save-front", "no/such/folder"), "a folder in one that does not exist"),
        (("--plot", "no/such/folder"), "a folder in one that does not exist"),
    ],
)
def test_wrong_options_are_errors(words: tuple[str, ...], told: str, file: Path) -> None:
    ended = run("sweep", str(file), *words)
    assert ended.code == 2
    assert told in ended.err


def test_a_missing_space_is_an_error(tmp_path: Path) -> None:
    ended = run("sweep", str(tmp_path / "none.yaml"))
    assert ended.code == 2
    assert "no such file" in ended.err


def test_the_bar_counts_designs(file: Path) -> None:
    with SweepBar() as bar:
        found = nestmap.sweep(file, progress=bar)
    assert found.summary.designs == 12


def test_what_the_store_knows_says_nothing_about_the_rate(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the designs are known: the time left is that of the others."""
    store = tmp_path / "sweeps.duckdb"
    nestmap.sweep(file, store=store, runs="none")
    write_space(tmp_path, SPACE.replace("[1, 2, 4]", "[1, 2, 4, 8]"))
    now, shown = count(), list[str]()

    def note(line: ProgressLine, text: str = "", **_: object) -> None:
        shown.append(text)

    monkeypatch.setattr(progress_line, "perf_counter", lambda: float(next(now)))
    monkeypatch.setattr(ProgressLine, "update", note)
    output = StringIO()
    with SweepBar(Console(file=output)) as bar:
        nestmap.sweep(file, store=store, runs="none", workers=1, progress=bar)
    (told,) = (x for x in shown if x.startswith("12 of 24 designs"))
    assert told.startswith("12 of 24 designs, front ")  # neither a rate nor the time left
    # a second of this clock for a design that is explored
    assert shown[-2].startswith("23 of 24 designs, 1/s, ")
    assert shown[-2].endswith("0:01 left")
    assert "Explored 12 designs in " in output.getvalue()
    assert output.getvalue().endswith("s. 12 were in the store.\n")
