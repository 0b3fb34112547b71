"""Folders, links and pyproject.toml agree, and sources keep the house rules.

Which room may import which stands in pyproject.toml; ``make check`` runs import-linter.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINKS = ROOT / "src" / "nestmap"
PIPELINE = "nestmap.pipeline."

ROOMS = ("model", "costmodel", "search", "store", "pipeline")

# What each layer is made of; the pipeline, where it all meets, may use every dependency.
LIBRARIES = {
    "model": {"numpy", "pydantic", "networkx", "lazy_loader"},
    "costmodel": {"numpy", "numba"},
    "search": {"numpy", "numba", "pydantic", "deap", "ortools"},  # ortools: optional
    # pandas: only its type
    "store": {"numpy", "pydantic", "duckdb", "pyarrow", "pandas", "lazy_loader", "psutil"},
}

# Places that exist on one machine only, and package indexes that not everybody can reach.
ONE_MACHINE = re.compile(
    r"(?<![\w.~-])/(?:work|root|tmp|home|opt|Users)/"
    r"|file:/{3}"
    r"|https?://[^\s/\"'<>]*(?:registry|artifactory|nexus|mirror|proxy|localhost)"
)


def sources() -> list[Path]:
    """Every module of the package."""
    modules = [path for folder in ROOMS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [*modules, LINKS / "__init__.py"]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), name_of(path))


def imported(folder: str) -> set[str]:
    """The full names of all modules that a folder imports, also those for type checkers only."""
    names: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.module is not None, f"{path} uses a relative import"
                assert node.level == 0, f"{path} uses a relative import"
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_the_folders_are_the_layers() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "benchmarks", "examples"} == set(ROOMS)


def test_each_folder_is_linked_into_the_package() -> None:
    links = {path.name: os.readlink(path) for path in LINKS.iterdir() if path.is_symlink()}
    assert links == {name: f"../../{name}" for name in ROOMS}
    real = {path.name for path in LINKS.iterdir() if not path.is_symlink()}
    assert real - {"__pycache__"} == {"__init__.py", "__init__.pyi", "py.typed"}


def test_each_folder_goes_into_the_wheel_and_the_sdist() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    targets = config["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {name: f"nestmap/{name}" for name in ROOMS}
    assert set(ROOMS) <= set(targets["sdist"]["only-include"])
    assert {"src/nestmap/__init__.py", "src/nestmap/py.typed"} <= set(
        targets["wheel"]["only-include"]
    )


def test_each_folder_is_checked_under_its_one_name() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert {f"src/nestmap/{name}" for name in ROOMS} <= set(config["pyright"]["include"])
    assert set(config["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]) == set(ROOMS)
    assert config["mypy"]["strict"]
    assert config["pyright"]["typeCheckingMode"] == "strict"


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_the_top_of_the_package(room: str) -> None:
    assert "nestmap" not in imported(room)


@pytest.mark.parametrize("folder", LIBRARIES)
def test_each_layer_uses_the_libraries_it_is_made_of(folder: str) -> None:
    tops = {name.split(".")[0] for name in imported(folder)}
    assert tops - sys.stdlib_module_names - {"nestmap"} <= LIBRARIES[folder]


def test_the_stage_graph_knows_no_stage() -> None:
    for module in ("stage_graph", "describe"):
        names = [
            node.module or ""
            for node in ast.walk(parsed(ROOT / f"pipeline/{module}.py"))
            if isinstance(node, ast.ImportFrom)
        ]
        own = {name for name in names if name.startswith(PIPELINE)}
        assert own <= {f"{PIPELINE}stage_graph", f"{PIPELINE}util.atomic_files"}


def bound_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a package's face binds or lists, and from where it imports each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((x.asname or x.name, f"{node.module}.{x.name}") for x in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, ""
        elif isinstance(node, ast.List):
            yield from ((str(ast.literal_eval(x)), "") for x in node.elts)  # ``__all__``


def test_no_package_binds_the_name_of_a_submodule_to_something_else() -> None:
    faces = [path for path in sources() if path.name == "__init__.py"]
    shadowed: list[str] = []
    for face in faces:
        folder = LINKS if face.parent == LINKS else face.parent
        inside = [path for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"]
        package = ".".join(["nestmap", *face.parent.relative_to(ROOT).parts])
        names = {path.stem for path in inside}
        shadowed += [
            f"{package}.{name}"
            for name, origin in bound_names(parsed(face))
            if name in names and origin != f"{package}.{name}"
        ]
    assert not shadowed


def test_each_module_says_in_a_sentence_what_it_is() -> None:
    docstrings = {name_of(path): ast.get_docstring(parsed(path)) for path in sources()}
    assert not [name for name, text in docstrings.items() if not text]
    first = {name: (text or "").split("\n\n")[0] for name, text in docstrings.items()}
    assert not [name for name, text in first.items() if not text.endswith((".", ":"))]


def test_no_function_takes_arbitrary_keywords() -> None:
    """Those of a typed dictionary are not arbitrary."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    taken = [
        (f"{name_of(path)}:{node.lineno}", node.args.kwarg.annotation)
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, functions) and node.args.kwarg is not None
    ]
    assert len(taken) >= 2
    assert not [
        place
        for place, kind in taken
        if kind is None or not ast.unparse(kind).startswith("Unpack[")
    ]


def test_notebooks_show_values_through_one_hook() -> None:
    """A class says ``_repr_html_ = html`` or nothing; views are registered."""
    found = [
        (name_of(path), ast.unparse(node))
        for path in sources()
        if "_repr_html_" in path.read_text(encoding="utf-8")
        for owner in ast.walk(parsed(path))
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if "_repr_html_" in ast.unparse(node)
    ]
    assert ("model/base.py", "_repr_html_ = html") in found
    assert {text for _, text in found} == {"_repr_html_ = html"}


def tracked() -> Iterator[tuple[str, str]]:
    """Name and text of every file that is, or would be, in the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            yield name, path.read_bytes().decode("utf-8", errors="replace")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_nothing_names_a_place_on_one_machine() -> None:
    found = [
        f"{name}:{number}: {match.group()}"
        for name, text in tracked()
        for number, line in enumerate(text.splitlines(), 1)
        for match in ONE_MACHINE.finditer(line)
    ]
    assert not found


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("open('/" + "tmp/x.yaml')", True),
        ("path: /" + "work/shared/spec", True),
        ("index = https://" + "registry.example/simple", True),
        ("see ../shared/DESIGN.md or ~/tmp/x and https://pypi.org/simple", False),
        ("ROOT / 'home' / 'work'", False),
    ],
)
def test_the_search_for_places_finds_them(line: str, caught: bool) -> None:
    assert bool(ONE_MACHINE.search(line)) is caught
