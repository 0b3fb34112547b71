"""The kinds of YAML files, each recognized by fields that no other kind has."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from nestmap.pipeline.frontend.yaml.located_node import Node


class FileKind(StrEnum):
    """What a YAML file describes; errors about values of dictionaries begin with it."""

    WORKLOAD = "workload"
    ACCELERATOR = "accelerator"
    CORES = "cores"
    MAPPING = "mapping"
    SPACE = "design space"


_NAMES: Final[Mapping[FileKind, str]] = {
    FileKind.WORKLOAD: "a network",
    FileKind.ACCELERATOR: "an accelerator with a single core",
    FileKind.CORES: "an accelerator with several cores",
    FileKind.MAPPING: "a mapping file",
    FileKind.SPACE: "a design space",
}
_OF_ITEMS: Final[Mapping[FileKind, frozenset[str]]] = {
    FileKind.WORKLOAD: frozenset({"equation", "loop_dims", "loop_sizes", "operand_precision"}),
    FileKind.MAPPING: frozenset({"spatial_mapping", "core_allocation", "memory_operand_links"}),
}
_OF_ROOTS: Final[Mapping[FileKind, frozenset[str]]] = {
    FileKind.CORES: frozenset({"cores"}),
    FileKind.ACCELERATOR: frozenset({"operational_array", "memories"}),
    FileKind.SPACE: frozenset({"parameters", "networks"}),
    FileKind.MAPPING: frozenset({"layers", "fused_groups"}),
}
_HARDWARE: Final = frozenset({FileKind.ACCELERATOR, FileKind.CORES})


def check_kind(root: Node, expected: FileKind) -> None:
    """Checks that a file is not one of another kind: two may have been exchanged.

    Whoever reads an accelerator says what to do with one that has another number of cores.

    Raises:
        InputError: if it is.
    """
    found = _kind_of(root)
    if found is None or found is expected or {found, expected} <= _HARDWARE:
        return
    raise root.error(_NAMES[expected], _NAMES[found])


def _kind_of(root: Node) -> FileKind | None:
    signs, first = _OF_ROOTS, root
    if root.is_sequence:
        signs, first = _OF_ITEMS, next(iter(root.sequence()), root)
    if not first.is_mapping:
        return None
    fields = first.entries().keys()
    return next((kind for kind, names in signs.items() if names & fields), None)
