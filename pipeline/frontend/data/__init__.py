"""Bundled accelerators, cores and mappings as YAML; settings of CACTI."""

from importlib.resources import files
from pathlib import Path


def bundled_files(folder: str) -> dict[str, Path]:
    """The YAML files in a folder of the bundled data, by name without suffix."""
    place = Path(str(files(__name__).joinpath(folder)))
    return {path.stem: path for path in sorted(place.glob("*.yaml"))}


def bundled_cores() -> dict[str, Path]:
    """The files of the bundled cores, by name."""
    return bundled_files("cores")
