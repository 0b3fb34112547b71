"""The example files inside the installed zigzag-dse package, found without importing it."""

from importlib.util import find_spec
from pathlib import Path


def zigzag_inputs(folder: str) -> tuple[Path, ...]:
    """The YAML files of one of ``hardware`` and ``mapping``."""
    spec = find_spec("zigzag")
    assert spec is not None
    assert spec.origin is not None
    files = sorted((Path(spec.origin).parent / "inputs" / folder).glob("*.yaml"))
    assert files, folder
    return tuple(files)
