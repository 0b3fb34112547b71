"""What commands import: packages that take long are imported only by commands that use them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.startup import LAYER

import nestmap
from nestmap.pipeline.frontend.bundled import resolve_workload
from nestmap.store import Store
from tests.pipeline.cli.inputs import run

HEAVY = frozenset(
    {
        *("altair", "deap", "duckdb", "jinja2", "networkx", "numba"),
        *("numpy", "onnx", "ortools", "pandas", "polars", "pyarrow", "pydantic", "rich", "yaml"),
    }
)
"""Packages whose import takes 10 ms or more."""

ON_FIRST_CALL = "numba"
"""What is imported when a kernel is first called."""

RUN = """
import atexit, json, sys
from nestmap.pipeline.cli import main
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main()
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.duckdb"
    layer = nestmap.linear("fc", (4, 16), 8)
    with Store.open(path) as opened:
        nestmap.explore(nestmap.network("n", layer), "tpu_like", store=opened)
    return path


def imported(words: list[str], folder: Path) -> list[str]:
    """The modules that a command imports."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    modules: list[str] = json.loads(ran.stderr.splitlines()[-1])
    return modules


def heavy(modules: list[str]) -> set[str]:
    return {name.split(".")[0] for name in modules} & HEAVY


def rooms(modules: list[str]) -> set[str]:
    """The rooms of nestmap that were entered."""
    return {name.split(".")[1] for name in modules if name.startswith("nestmap.")}


@pytest.mark.parametrize(
    "words", [["--help"], ["explore", "--help"], ["stream", "--help"], ["sweep", "--help"]]
)
def test_help_imports_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    modules = imported(words, tmp_path)
    assert heavy(modules) <= {"pydantic"}  # Typer imports it
    assert rooms(modules) == {"pipeline"}


def test_a_query_imports_no_model(store: Path) -> None:
    modules = imported(["query", "SELECT count(*) FROM best", "--store", str(store)], store.parent)
    assert heavy(modules) == {"duckdb", "numpy", "pyarrow", "pydantic", "rich"}
    model = {name for name in modules if name.startswith("nestmap.model.")}
    light = ("base", "errors", "display", "units", "evaluation", "evaluation.recording")
    assert model == {f"nestmap.model.{name}" for name in light}


def test_showing_an_accelerator_imports_neither_kernels_nor_a_store(tmp_path: Path) -> None:
    modules = imported(["show", "--accelerator", "tpu_like"], tmp_path)
    assert not heavy(modules) & {"duckdb", "networkx", "numba", "onnx", "pyarrow"}
    assert "store" not in rooms(modules)


def test_showing_a_network_imports_what_it_uses(tmp_path: Path) -> None:
    words = ["show", "light:squeezenet"]
    imported(words, tmp_path)  # it may have to be read for the first time
    modules = imported(words, tmp_path)
    assert heavy(modules) == {"pydantic", "rich"}
    parts = ("costmodel", "model.evaluation", "model.hardware", "model.mapping", "model.multicore")
    for unused in (*parts, "pipeline.frontend.yaml"):
        assert not [name for name in modules if name.startswith(f"nestmap.{unused}.")]


def test_examples_import_neither_kernels_nor_a_store(tmp_path: Path) -> None:
    modules = imported(["examples"], tmp_path)
    assert not heavy(modules) & {"duckdb", "networkx", "numba", "onnx", "pyarrow"}
    assert "store" not in rooms(modules)


def test_drawing_imports_no_kernel(store: Path) -> None:
    words = ["plot", "last", "--what", "energy", "--store", str(store), "-o", "energy.svg"]
    assert not heavy(imported(words, store.parent)) & {"altair", "numba", "onnx"}


def test_a_report_imports_neither_altair_nor_what_is_for_sweeps_and_schedules(store: Path) -> None:
    modules = imported(["report", "last", "--store", str(store)], store.parent)
    assert not heavy(modules) & {"altair", "deap", "networkx", "onnx", "ortools"}
    assert not {
        "nestmap.pipeline.sweep.record.recorded_summary",
        "nestmap.pipeline.multicore.plan",
    } & {*modules}


@pytest.mark.parametrize("search", [("--search", "loma", "--lpf-limit", "2"), ()])
def test_an_exploration_imports_what_it_uses(search: tuple[str, ...], store: Path) -> None:
    words = ["explore", "light:squeezenet", "-a", "tpu_like", "--no-store", *search]
    assert run(*words).code == 0  # the kernels may have to be compiled
    modules = imported(words, store.parent)
    unused = {"altair", "deap", "jinja2", "networkx", "ortools", "pandas", "polars"}
    assert not heavy(modules) & unused
    assert not {"onnx.reference", "rich.console"} & {*modules}  # its output is no terminal


@pytest.mark.parametrize(
    "words", [("explore", "-a", "tpu_like", "--search", "loma", "--lpf-limit", "2"), ("show",)]
)
def test_an_onnx_file_is_read_without_importing_onnx(words: tuple[str, ...], store: Path) -> None:
    command, *options = words
    network = str(resolve_workload("light:squeezenet"))
    store_off = ["--no-store"] if command == "explore" else []
    modules = imported([command, network, *options, *store_off], store.parent)
    assert not {name.split(".")[0] for name in modules} & {"onnx", "google"}


@pytest.mark.parametrize(
    "search", [("--search", "loma", "--lpf-limit", "2"), ("--objective", "edp")]
)
def test_an_exploration_of_known_layers_calls_no_kernel(
    search: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "layer.yaml").write_text(LAYER)
    words = ["explore", "layer.yaml", "-a", "tpu_like", "--store", "runs.duckdb", *search]
    first, again = (set(imported(words, tmp_path)) for _ in range(2))
    assert ON_FIRST_CALL in first
    assert not again & {ON_FIRST_CALL, "pyarrow.compute"}


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("multicore.plan", "deap"),
        ("multicore.api", "deap"),
        ("sweep.result.result", "pyarrow"),
        ("explore.replay", "duckdb"),
    ],
)
def test_what_only_some_runs_need_is_not_imported_with_their_models(
    module: str, package: str
) -> None:
    code = f"import json, sys; import nestmap.pipeline.{module}; print(json.dumps([*sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert package not in heavy(json.loads(ran.stdout))
