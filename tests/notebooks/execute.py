"""Runs a notebook in a Python of its own and keeps what it shows, without what is new each time.

``python -m tests.notebooks.execute`` does that with the example of the documentation, in place.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NotRequired, TypedDict, cast

ROOT: Final = Path(__file__).parent.parent.parent
EXAMPLE: Final = ROOT / "docs" / "notebooks" / "explore.ipynb"

_CLIENT: Final = "from nbclient.cli import main; main()"
_SECONDS_A_CELL: Final = 600
_KEPT: Final = ("text/html", "image/svg+xml")


class Output(TypedDict):
    """What a cell showed: data by type, or text that it printed."""

    output_type: str
    data: NotRequired[dict[str, str | list[str]]]
    metadata: NotRequired[dict[str, object]]
    name: NotRequired[str]
    text: NotRequired[list[str]]


class Cell(TypedDict):
    """Text or code; code has outputs."""

    id: str
    cell_type: str
    source: str | list[str]
    metadata: dict[str, object]
    outputs: NotRequired[list[Output]]


class Notebook(TypedDict):
    """A notebook as it stands in its file."""

    cells: list[Cell]
    metadata: dict[str, object]
    nbformat: int
    nbformat_minor: int


def read(path: Path) -> Notebook:
    """The notebook in a file."""
    return cast(Notebook, json.loads(path.read_text()))


def execute(path: Path) -> Notebook:
    """The notebook with what its cells show when they are run now, from top to bottom.

    Raises:
        RuntimeError: if one of them fails; what it says.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        command = [sys.executable, "-c", _CLIENT, "--inplace", f"--timeout={_SECONDS_A_CELL}"]
        done = subprocess.run(
            [*command, copy.name],
            cwd=folder,
            env=_environment(Path(folder)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return _settled(read(copy))


def write(notebook: Notebook, path: Path) -> None:
    """Writes the notebook as Jupyter does."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's Jupyter is used, so that the kernel is this Python, nor left there."""
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER_")}
    return kept | {name: str(folder / name.lower()) for name in places}


def _settled(notebook: Notebook) -> Notebook:
    """The notebook without versions, times, and the text of what shows itself otherwise."""
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            rich = {kind: value for kind, value in data.items() if kind in _KEPT}
            if rich:
                output["data"] = rich
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


if __name__ == "__main__":
    write(execute(EXAMPLE), EXAMPLE)
