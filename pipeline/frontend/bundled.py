"""Bundled examples by name: accelerators, mappings, networks that are files or are generated."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from os.path import isfile
from pathlib import Path
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.frontend.data import bundled_files
from nestmap.pipeline.frontend.networks import network_names
from nestmap.pipeline.frontend.yaml.located_node import suggestion

LIGHT: Final = "light:"
"""What the names of the onnx package's networks without weights begin with."""

_LIGHT_NETWORKS: Final = ("backend", "test", "data", "light")
_SUFFIXES: Final = (".yaml", ".yml", ".onnx")


def accelerator_names() -> tuple[str, ...]:
    """The bundled accelerators."""
    return tuple(bundled_files("accelerators"))


def multicore_names() -> tuple[str, ...]:
    """The bundled accelerators with several cores."""
    return tuple(bundled_files("multicore"))


def mapping_names() -> tuple[str, ...]:
    """The bundled mappings: under an accelerator's name the one for it; ``free`` fixes nothing."""
    return tuple(bundled_files("mappings"))


def workload_names() -> tuple[str, ...]:
    """The networks by name: those of :func:`light_names` and those that are generated."""
    return (*light_names(), *network_names())


def light_names() -> tuple[str, ...]:
    """The onnx package's networks: ``light:resnet50``, ``light:bvlc_alexnet`` (or without bvlc)."""
    return tuple(_networks())


def resolve_accelerator(name_or_path: str) -> Path:
    """The file of a bundled accelerator, or the path itself where it is one.

    Raises:
        InputError: where it is neither the name of an example nor a path.
    """
    if name_or_path in bundled_files("multicore"):
        raise InputError(
            "accelerator",
            f"{name_or_path!r}, which has several cores",
            "one of a single core; for several cores there are nestmap stream and nestmap split",
        )
    return _resolved("accelerator", name_or_path, bundled_files("accelerators"))


def resolve_multicore(name_or_path: str) -> Path:
    """The file of a bundled accelerator with several cores, or the path itself where it is one.

    Raises:
        InputError: where it is neither the name of an example nor a path.
    """
    return _resolved("cores", name_or_path, bundled_files("multicore"))


def resolve_mapping(name_or_path: str) -> Path:
    """The file of a bundled mapping, or the path itself where it is one.

    Raises:
        InputError: where it is neither the name of an example nor a path.
    """
    return _resolved("mapping", name_or_path, bundled_files("mappings"))


def resolve_workload(name_or_path: str) -> Path:
    """The file of a network known by name, or the path itself where it is one.

    Networks that are generated have none: ask for them first.

    Raises:
        InputError: where it is neither the name of a network nor a path.
    """
    return _resolved("workload", name_or_path, _networks(), network_names())


def default_mapping_for(accelerator: str) -> Path | None:
    """The bundled mapping for a bundled accelerator; none for any other."""
    if accelerator not in bundled_files("accelerators"):
        return None
    return bundled_files("mappings").get(accelerator)


def _networks() -> dict[str, Path]:
    """The light networks; found without importing onnx, which takes a while."""
    spec = find_spec("onnx")
    if spec is None or spec.origin is None:
        return {}
    place = Path(spec.origin).parent.joinpath(*_LIGHT_NETWORKS)
    stems = {path.stem.removeprefix("light_"): path for path in place.glob("light_*.onnx")}
    short = {stem.removeprefix("bvlc_"): path for stem, path in stems.items()}
    return {LIGHT + stem: path for stem, path in sorted((short | stems).items())}


def _resolved(
    what: str, name_or_path: str, known: Mapping[str, Path], others: tuple[str, ...] = ()
) -> Path:
    if name_or_path in known:
        return known[name_or_path]
    if isfile(name_or_path) or _looks_like_path(name_or_path):
        return Path(name_or_path)
    expected = f"a file or {suggestion(name_or_path, (*known, *others))}"
    raise InputError(what, repr(name_or_path), expected)


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.lower().endswith(_SUFFIXES)
