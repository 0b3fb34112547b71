"""Names that look like SQL are only names, from the files of a user to every command."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nestmap.pipeline
import nestmap.store
from nestmap.pipeline.cli import progress
from nestmap.store import Parameter, Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.cli.inputs import LAYER, MACHINE, MAPPING, run
from tests.store.builders import NASTY

# DuckDB takes a backslash for a separator in the name of a file
FILE = NASTY.replace("\\", "")
LAYERS = (NASTY, "it's\" $2; DROP TABLE searches; --", "') OR 1=1 --")
TABLES = "SELECT count(*) AS n FROM duckdb_tables()"
NEEDED = {"top": ("--layer", NASTY, "--top", "2"), "compare": ("--against", "last")}


def text(name: str) -> str:
    """A name in YAML."""
    return json.dumps(name, ensure_ascii=False)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a workload, a machine and a mapping of dangerous names."""
    monkeypatch.chdir(tmp_path)
    sizes = ("3, 8, 5", "3, 6, 8", "3, 4, 8")
    layers = [LAYER % (i, text(x), sizes[i], 0, i) for i, x in enumerate(LAYERS)]
    Path(f"{FILE}.yaml").write_text("".join(layers), encoding="utf-8")
    machine = MACHINE.replace("name: tiny", f"name: {text(NASTY)}")
    Path(f"{FILE} machine.yaml").write_text(machine, encoding="utf-8")
    Path(f"{FILE} mapping.yaml").write_text(MAPPING, encoding="utf-8")


EXPLORE = (
    *("explore", f"{FILE}.yaml", "-a", f"{FILE} machine.yaml", "-m", f"{FILE} mapping.yaml"),
    *("--search", "loma", "--store", f"{FILE}.duckdb"),
)


def ran(*command: str) -> str:
    ended = run(*command)
    assert ended.code == 0, ended.err
    return ended.out


def asked(*question: str, store: str = f"{FILE}.duckdb") -> list[dict[str, object]]:
    answer: list[dict[str, object]] = json.loads(
        ran("query", *question, "--store", store, "--format", "json")
    )
    return answer


def test_names_come_back_as_they_were_given() -> None:
    printed = ran(*EXPLORE)
    (tables,) = asked(TABLES)
    (total,) = asked("network_totals", "--run", "last")
    assert (total["workload"], total["accelerator"]) == (FILE, NASTY)
    assert [row["layer"] for row in asked("per_layer", "--run", "last")] == list(LAYERS)
    with Store.open_read_only(Path(f"{FILE}.duckdb")) as store:
        (record,) = store.runs()
        assert (record.workload, record.accelerator) == (FILE, NASTY)
        assert [x.cme.layer for x in store.best(record.id).layers] == list(LAYERS)
        for name in LAYERS:
            assert sum(map(len, store.evaluations(record.id, name))) > 0
        known = store.named_queries()
    queries = [x for x in known if Parameter.SWEEP not in x.parameters]  # there is no sweep
    for query in queries:
        wanted = {parameter.value for parameter in query.parameters}
        given = NEEDED.get(query.name, ())
        options = (*given, *(("--against", "last") if "against" in wanted - set(given) else ()))
        asked(query.name, *(("--run", "last") if "run" in wanted else ()), *options)
    assert ran(*EXPLORE) == printed  # all of it from the store
    assert asked(TABLES) == [tables]
    assert check_store(Path(f"{FILE}.duckdb")).problems == ()


def test_commands_that_copy_stores_keep_names() -> None:
    ran(*EXPLORE)
    ran("db", "check", "--store", f"{FILE}.duckdb")
    ran("db", "merge", f"{FILE} 2.duckdb", f"{FILE}.duckdb")
    ran("db", "merge", f"{FILE} 3.duckdb", f"{FILE}.duckdb", f"{FILE} 2.duckdb")
    ran("db", "prune", "--keep-best", "--store", f"{FILE} 3.duckdb")
    first = asked("per_layer", "--run", "last")
    for copy in (f"{FILE} 2.duckdb", f"{FILE} 3.duckdb"):
        ran("db", "check", "--store", copy)
        assert asked("per_layer", "--run", "last", store=copy) == first


def test_a_run_with_such_names_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = progress.ExplorationBar.observe

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.ExplorationBar, "observe", stop)
    assert run(*EXPLORE).code == 130
    monkeypatch.setattr(progress.ExplorationBar, "observe", seen)
    printed = ran("resume", "last", "--store", f"{FILE}.duckdb")
    assert printed == ran(*EXPLORE[:-2], "--no-store")
    for name in (NASTY, *LAYERS):
        ended = run("resume", name, "--store", f"{FILE}.duckdb")
        assert (ended.code, ended.out) == (2, "")
        assert "found no such run" in ended.err


# --- no statement is made of values ---

# What SQL is put together of in the code: names of tables and columns that the code itself knows,
# pieces of SQL that are constants, and texts that `literal` or `name` have quoted.
PIECES = frozenset(
    (
        "table",
        "column",
        "columns",
        "owner",
        "key",
        "parts",
        "place",
        "x",
        "alias",
        "to",
        "source",
        "sources",
        "sweeps",
        "old",
        "new",
        "path",
        "files",
        "paths",
        "folders",
        "chosen",
        "distinct",
        "condition",
        "expressions",
        "runs",
        "run_searches",
        "generations",
        "change",
        "searches",
        "evaluation_rows",
        "rows",
        "versions",
        "names",
        "wanted",
        "on_conflict",
        "name",
        "x.column",
        "x.table",
        "marks",
        "ordered",
    )
)
QUOTED = ("quote_literal(", "quote_name(", "', '.join(")
ROOTS = [Path(x.__file__ or "").parent for x in (nestmap.store, nestmap.pipeline)]
VERBS = (
    "SELECT ",
    "INSERT ",
    "DELETE ",
    "UPDATE ",
    "CREATE ",
    "ATTACH ",
    "DROP ",
    "COPY ",
    "ALTER ",
)


def test_statements_are_put_together_of_known_pieces_only() -> None:
    found = list(_pieces())
    assert len(found) > 20  # or else it looks at the wrong places
    unknown = {
        f"{where}: {piece}"
        for where, piece in found
        if not (piece in PIECES or piece.lstrip("_").isupper() or piece.startswith(QUOTED))
    }
    # which is shown to the user, not executed; it is the beginning of a UUID
    unknown -= {x for x in unknown if re.fullmatch(r"explore\.py:\d+: short_id\(run\)", x)}
    assert unknown == set()


def _pieces() -> Iterator[tuple[str, str]]:
    """What is put into texts that are SQL, with the line where."""
    for path in (path for root in ROOTS for path in sorted(root.rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for piece in _put_into(node):
                if isinstance(piece, ast.Constant):
                    continue
                yield f"{path.name}:{piece.lineno}", ast.unparse(piece)


def _put_into(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.JoinedStr(values=values):
            said = "".join(str(x.value) for x in values if isinstance(x, ast.Constant))
            if any(verb in said for verb in VERBS):
                yield from (x.value for x in values if isinstance(x, ast.FormattedValue))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="format")) if _is_sql(name):
            yield from node.args
            yield from (x.value for x in node.keywords if x.arg is not None)
        case ast.Call(func=ast.Attribute(attr="execute" | "sql"), args=[ast.BinOp() as sum_, *_]):
            yield from (sum_.left, sum_.right)
        case _:
            pass


def _is_sql(name: str) -> bool:
    return name.lstrip("_").isupper()
