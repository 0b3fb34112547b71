"""Looks up bundled accelerators, mappings and networks by name."""

from collections.abc import Mapping
from importlib.util import find_spec
from os.path import isfile
from pathlib import Path
from typing import Final

from nestmap.model import InputError
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.data import bundled_files
from nestmap.pipeline.frontend.networks import network_names

LIGHT: Final = "light:"
"""The prefix of the names of networks shipped with the onnx package, which have no weights."""

_LIGHT_NETWORKS: Final = ("backend", "test", "data", "light")
_SUFFIXES: Final = (".yaml", ".yml", ".onnx")


def accelerator_names() -> tuple[str, ...]:
    """The names of the bundled single-core accelerators."""
    return tuple(bundled_files("accelerators"))


def multicore_names() -> tuple[str, ...]:
    """The names of the bundled multi-core accelerators."""
    return tuple(bundled_files("multicore"))


def mapping_names() -> tuple[str, ...]:
    """The names of the bundled mappings: one per accelerator, and ``free``, which fixes nothing."""
    return tuple(bundled_files("mappings"))


def workload_names() -> tuple[str, ...]:
    """The names of all networks: those of :func:`light_names` and the generated ones."""
    return (*light_names(), *network_names())


def light_names() -> tuple[str, ...]:
    """The names of networks in the onnx package: ``light:resnet50``, ``light:bvlc_alexnet``, ...

    The prefix ``bvlc_`` may be left out.
    """
    return tuple(_networks())


def resolve_accelerator(name_or_path: str) -> Path:
    """The file of a bundled accelerator, or the path itself.

    Raises:
        InputError: if the text is neither a bundled name nor a path.
    """
    if name_or_path in bundled_files("multicore"):
        raise InputError(
            "accelerator",
            f"{name_or_path!r}, which has several cores",
            "a single-core accelerator; for several cores use nestmap stream or nestmap split",
        )
    return _resolved("accelerator", name_or_path, bundled_files("accelerators"))


def resolve_multicore(name_or_path: str) -> Path:
    """The file of a bundled multi-core accelerator, or the path itself.

    Raises:
        InputError: if the text is neither a bundled name nor a path.
    """
    known = bundled_files("multicore")
    if name_or_path in bundled_files("accelerators") and name_or_path not in known:
        raise InputError(
            "cores",
            f"{name_or_path!r}, which has a single core",
            f"one of {', '.join(known)}, or a file; for a single core use nestmap explore",
        )
    return _resolved("cores", name_or_path, known)


def resolve_mapping(name_or_path: str) -> Path:
    """The file of a bundled mapping, or the path itself.

    Raises:
        InputError: if the text is neither a bundled name nor a path.
    """
    return _resolved("mapping", name_or_path, bundled_files("mappings"))


def resolve_workload(name_or_path: str) -> Path:
    """The file of a named network, or the path itself.

    Generated networks have no file: check for them first.

    Raises:
        InputError: if the text is neither the name of a network file nor a path.
    """
    return _resolved("workload", name_or_path, _networks(), network_names())


def default_mapping_for(accelerator: str) -> Path | None:
    """The bundled mapping for a bundled accelerator; ``None`` for any other accelerator."""
    if accelerator not in bundled_files("accelerators"):
        return None
    return bundled_files("mappings").get(accelerator)


def _networks() -> dict[str, Path]:
    """The light networks by name, found without importing onnx, which is slow."""
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
