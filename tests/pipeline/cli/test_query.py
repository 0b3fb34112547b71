"""``nestmap query``: by name or in SQL, on the terminal or into files."""

import csv
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.store import Store
from tests.loma import with_loma
from tests.pipeline.cli.inputs import run
from tests.pipeline.networks import PROBLEM
from tests.store.builders import NASTY, info
from tests.store.filled import filled


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty store in the current folder."""
    monkeypatch.chdir(tmp_path)
    filled(Path("nestmap.duckdb"))


def test_table() -> None:
    ended = run("query", "SELECT 'a' AS name, 12 AS n UNION ALL SELECT 'long', NULL ORDER BY name")
    assert ended.code == 0
    assert ended.out.splitlines() == ["name   n", "--------", "a     12", "long", "(2 rows)"]


def test_csv() -> None:
    sql = "SELECT 'a,\"b' AS t, [1, 2] AS l, NULL AS n, 0.5::DOUBLE AS x, true AS y"
    lines = run("query", sql, "--format", "csv").out.splitlines()
    assert list(csv.reader(lines)) == [
        ["t", "l", "n", "x", "y"],
        ['a,"b', "[1, 2]", "", "0.5", "true"],
    ]


def test_json() -> None:
    sql = "SELECT sum(i) AS s, i AS i, i AS i, {'k': [i]} AS d FROM range(2) t(i) GROUP BY i"
    rows = json.loads(run("query", sql + " ORDER BY i", "--format", "json").out)
    assert rows == [
        {"s": 0, "i": 0, "i_2": 0, "d": {"k": [0]}},
        {"s": 1, "i": 1, "i_2": 1, "d": {"k": [1]}},
    ]


def test_of_no_rows_the_columns_are_shown() -> None:
    assert "run" in run("query", "SELECT * FROM totals").out
    assert json.loads(run("query", "SELECT * FROM totals", "--format", "json").out) == []
    lines = run("query", "SELECT run FROM totals", "--format", "csv").out.splitlines()
    assert lines == ["run"]


def test_another_store(tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    filled(other)
    (tmp_path / "nestmap.duckdb").unlink()
    assert run("query", "SHOW TABLES", "--store", str(other)).code == 0


def test_the_store_is_not_changed() -> None:
    before = Path("nestmap.duckdb").read_bytes()
    ended = run("query", "CREATE TABLE mine (i INTEGER)")
    assert (ended.code, ended.out) == (2, "")
    assert "read-only" in ended.err
    assert Path("nestmap.duckdb").read_bytes() == before


@pytest.fixture(scope="module", name="explored")
def _explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, str]]:
    """A store with two runs, and these, the older one first."""
    path = tmp_path_factory.mktemp("explored") / "nestmap.duckdb"
    first, second = (
        explore_network(PROBLEM, SearchPlan.of(with_loma(objective=objective)), store=path).run
        for objective in ("latency", "energy")
    )
    return path, (str(first), str(second))


@pytest.fixture(name="runs")
def _runs(explored: tuple[Path, tuple[str, str]]) -> tuple[str, str]:
    """Two runs in the store, the older one first."""
    path, runs = explored
    shutil.copyfile(path, "nestmap.duckdb")
    return runs


def asked(*arguments: str) -> list[dict[str, object]]:
    ended = run("query", *arguments, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    rows: list[dict[str, object]] = json.loads(ended.out)
    return rows


def test_the_list_shows_names_options_and_what_they_answer() -> None:
    ended = run("query", "--list")
    assert ended.code == 0
    (line,) = [line for line in ended.out.splitlines() if line.startswith("top ")]
    assert " --run --layer --top " in line
    assert "best recorded mappings of a layer" in line
    rows = {row["name"]: row for row in asked("--list")}
    assert rows["history"]["options"] == ""
    assert rows["compare"]["options"] == "--run --against"


def test_the_list_needs_no_store() -> None:
    Path("nestmap.duckdb").unlink()
    assert len(asked("--list")) > 10
    assert not Path("nestmap.duckdb").exists()


def test_a_named_query(runs: tuple[str, str]) -> None:
    (row,) = asked("network_totals", "--run", "last")
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        total = store.best(store.find_run("last"))
    assert (row["energy"], row["objective"]) == (total.energy, "energy")
    assert [row["run"] for row in asked("history")] == list(runs)


def test_runs_by_the_beginning_of_their_ids(runs: tuple[str, str]) -> None:
    first, second = runs
    (row,) = asked("network_totals", "--run", first[:18])
    assert row["objective"] == "latency"
    changed = asked("settings", "--run", second, "--against", first)
    assert changed[0] == {"setting": "objective", "before": "latency", "after": "energy"}


def test_without_a_run_it_is_the_last_one(runs: tuple[str, str]) -> None:
    for name in ("totals", "best", "evaluations", "roofline"):
        last = json.loads(run("query", name, "--format", "json").out)
        assert last == asked(name, "--run", runs[1]) != asked(name, "--run", runs[0])
    ended = run("query", "totals")
    assert ended.err == f"Of the last run, {runs[1][:8]}; --run selects another one.\n"
    assert run("query", "totals", "--run", "last").err == ""


def test_sql_takes_the_run(runs: tuple[str, str]) -> None:
    sql = "SELECT DISTINCT run FROM best WHERE run = $run"
    assert asked(sql) == [{"run": runs[1]}]
    assert asked(sql, "--run", runs[0][:18]) == [{"run": runs[0]}]


def test_names_of_runs(tmp_path: Path) -> None:
    Path("net.yaml").write_text(
        "- {id: 0, name: fc, operator_type: Gemm, equation: 'O[b][k]+=W[k][c]*I[b][c]', "
        "loop_dims: [B, K, C], loop_sizes: [2, 8, 8], "
        "operand_precision: {W: 8, I: 8, O: 16, O_final: 8}, operand_source: {W: 0, I: 0}}"
    )
    given = ("explore", "net.yaml", "-a", "tpu_like")
    ended = run(*given, "--name", "wide port", "--tag", "sram", "--tag", "week 7")
    assert ended.code == 0, ended.err
    run(*given)
    rows = asked("history")
    assert [(x["name"], x["tags"]) for x in rows] == [("wide port", ["sram", "week 7"]), (None, [])]
    (row,) = asked("totals", "--run", "wide port")
    assert row["run"] == rows[0]["run"]
    ended = run(*given, "--no-store", "--name", "x")
    assert (ended.code, "--name cannot be combined with --no-store" in ended.err) == (2, True)
    ended = run(*given, "--tag", " ")
    assert (ended.code, "tag of a run: found ' '" in ended.err) == (2, True)


def test_the_best_mappings_of_a_layer(runs: tuple[str, str]) -> None:
    rows = asked("top", "--run", "last", "--layer", "second", "--top", "2")
    assert [row["rank"] for row in rows] == [1, 2]


WRONG: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "query: found no question; expected the name of one (nestmap query --list"),
    "no such query": (["paretto"], "query 'paretto': there is none of that name; expected pareto"),
    "no other run": (["compare"], "query compare: found no --against; expected --run, --against"),
    "no layer": (["top", "--run", "last"], "found no --layer; expected --run, --layer, --top"),
    "too much": (
        ["pareto", "--run", "last", "--top", "3"],
        "--top cannot be combined with query pareto; it takes --run",
    ),
    "an option that is not taken": (
        ["history", "--layer", "x"],
        "--layer cannot be combined with query history; it takes no options",
    ),
    "SQL with an option": (["SELECT 1", "--run", "last"], "found no $run in the SQL"),
    "the list with an option": (["--list", "--top", "1"], "--top cannot be combined with --list"),
    "the list and a question": (["--list", "pareto"], "--list cannot be combined with 'pareto'"),
    "no such run": (["pareto", "--run", "xyz"], "run 'xyz': found no such run; expected last"),
    "no such other run": (["compare", "--run", "last", "--against", "'"], 'run "\'": found no'),
    "no such layer": (
        ["top", "--run", "last", "--top", "1", "--layer", "frist"],
        "found no layer 'frist'; expected first (one of first, second)",
    ),
    "no mapping": (["top", "--run", "last", "--layer", "first", "--top", "0"], "'--top'"),
    "binary output": (["history", "--format", "parquet"], "expected --output FILE"),
    "no such format": (["history", "--output", "x.xlsx"], "the suffix '.xlsx'; expected .txt, "),
    "no suffix": (["history", "--output", "x"], "or a --format"),
    "the store as output": (["history", "-o", "nestmap.duckdb"], "which is used already"),
    "no such folder": (["history", "-o", "no/x.csv"], "no folder no"),
    "what Parquet has not": (
        ["SELECT INTERVAL 1 DAY AS d", "-o", "x.parquet"],
        "expected types that Parquet has",
    ),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told(
    runs: tuple[str, str], arguments: list[str], told: str, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run("query", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_store_without_runs_says_so() -> None:
    ended = run("query", "pareto", "--run", "last")
    assert (ended.code, ended.out) == (2, "")
    assert "found no run in this store" in ended.err


def test_spreadsheets() -> None:
    sql = "SELECT '=1+1' AS formula, -2 AS number"
    header, row = run("query", sql, "--format", "spreadsheet").out.splitlines()
    assert (header, row) == ("\ufeffformula,number", "'=1+1,-2")
    assert run("query", sql, "--format", "spreadsheet", "-o", "a.csv").code == 0
    assert Path("a.csv").read_text(encoding="utf-8-sig").splitlines()[1] == "'=1+1,-2"


def test_a_run_without_results_says_so() -> None:
    with Store.open(Path("nestmap.duckdb")) as store, store.start_run(info()) as recorded:
        recorded.fail("enough")
    ended = run("query", "per_layer", "--run", "last")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "(0 rows)"
    assert (
        f"Run {str(recorded.id)[:8]} is failed; only runs that are done have results." in ended.err
    )


def test_files(runs: tuple[str, str]) -> None:
    expected = asked("per_layer", "--run", "last")
    for name in ("a.csv", "a.json", "a.parquet", "a.arrow", "a.feather", "a.txt"):
        ended = run("query", "per_layer", "--run", "last", "--output", name)
        assert (ended.code, ended.out, ended.err) == (0, "", f"Written to {name}.\n")
    assert json.loads(Path("a.json").read_text()) == expected
    table = pq.read_table("a.parquet")  # pyright: ignore[reportUnknownMemberType]
    assert table.to_pylist() == expected
    refused = run("query", "FROM read_parquet('a.parquet')")
    assert refused.code == 2
    assert "expected statements on the store alone" in refused.err
    for name in ("a.arrow", "a.feather"):
        with pa.ipc.open_file(name) as file:
            assert file.read_all().to_pylist() == expected
    with Path("a.csv").open(newline="") as csv_file:
        assert [row["layer"] for row in csv.DictReader(csv_file)] == ["first", "second"]
    for name, layout in (("a.md", "markdown"), ("a.tex", "latex")):
        run("query", "per_layer", "--run", "last", "--output", name)
        printed = run("query", "per_layer", "--run", "last", "--format", layout)
        assert Path(name).read_text() == printed.out != ""
    assert Path("a.txt").read_text() == run("query", "per_layer", "--run", "last").out


def test_the_format_goes_before_the_suffix() -> None:
    assert run("query", "SELECT 1 AS x", "--format", "json", "-o", "a.csv").code == 0
    assert json.loads(Path("a.csv").read_text()) == [{"x": 1}]


def test_a_file_is_kept_where_the_question_is_wrong() -> None:
    Path("a.csv").write_text("before")
    assert run("query", "SELECT error('broken')", "-o", "a.csv").code == 2
    assert Path("a.csv").read_text() == "before"
    assert list(Path.cwd().glob("*.part")) == []


def test_names_that_look_like_sql_are_only_names() -> None:
    name = NASTY.replace("\\", "")  # DuckDB takes it for a separator in the name of a file
    filled(Path(name))
    ended = run("query", "history", "--store", name, "--output", f"{name}.csv")
    assert (ended.code, ended.out) == (0, "")
    assert Path(f"{name}.csv").read_text().startswith("run,name,tags,started,")
    for option in ("--run", "--against", "--layer"):
        given = {"--run": "last", "--against": "last", "--layer": "x"} | {option: NASTY}
        query = ["top", "--top", "1"] if option == "--layer" else ["compare"]
        wanted = ("--run", "--layer") if option == "--layer" else ("--run", "--against")
        with Store.open(Path("nestmap.duckdb")) as store, store.start_run(info()) as recorded:
            recorded.fail("enough")
        ended = run("query", *query, *(part for x in wanted for part in (x, given[x])))
        assert (ended.code, ended.out) == (2, "")
        assert f"{NASTY!r}: found no" in ended.err or f"no layer {NASTY!r}" in ended.err
    assert len(asked("history")) == 3
    assert run("query", NASTY).code == 2
    assert len(asked("history")) == 3
