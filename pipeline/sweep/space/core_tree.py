"""Descriptions of several cores as trees: numbers as keys, cores by name, cores left out."""

from collections.abc import Collection, Mapping, Sized
from typing import Final

from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    BY_NUMBER,
    CONNECTIONS,
    COORDINATES,
    COPIES,
    CORES,
    OFFCHIP_CORE,
    OFFCHIP_NUMBER,
    SHARING,
)
from nestmap.pipeline.sweep.space.base_format import is_multicore
from nestmap.pipeline.sweep.space.field_path import PathError, Steps, Tree

_MEMORIES: Final = "memories"


def machine_values(tree: Mapping[str, Tree]) -> dict[str, object]:
    """A description as it is read and written: numbers of cores are numbers.

    That of a single core stays as it is.
    """
    if not is_multicore(tree):
        return dict(tree)
    return {name: _numbered(value) if name in BY_NUMBER else value for name, value in tree.items()}


def _numbered(value: Tree) -> object:
    if not isinstance(value, dict):
        return value
    return {int(key) if key.isdecimal() else key: x for key, x in value.items()}


def fields_meant(tree: Mapping[str, Tree], path: str) -> tuple[str, ...]:
    """The paths that a path means: ``cores.NAME...`` means those of all cores with that name.

    Raises:
        PathError: if the path begins with a core that the description does not have.
    """
    rest = path.removeprefix(f"{CORES}.")
    if not is_multicore(tree) or rest == path:
        return (path,)
    named = cores_by_name(tree)
    fitting = [x for x in named if rest == x or rest.startswith(f"{x}.")]
    if fitting:
        name = max(fitting, key=len)
        return tuple(f"{CORES}.{number}{rest[len(name) :]}" for number in named[name])
    word = rest.partition(".")[0]
    numbers = _cores(tree)
    if word not in numbers:
        raise PathError(f"the unknown core {word!r}", suggestion(word, (*named, *numbers)))
    return (path,)


def cores_by_name(tree: Mapping[str, Tree]) -> dict[str, list[str]]:
    """The numbers of the cores with each name, as texts."""
    found: dict[str, list[str]] = {}
    for number, core in _cores(tree).items():
        if isinstance(core, dict) and isinstance(name := core.get("name"), str):
            found.setdefault(name, []).append(number)
    return found


def _cores(tree: Mapping[str, Tree]) -> dict[str, Tree]:
    cores = tree[CORES]
    assert isinstance(cores, dict)  # the description was read
    return cores


def absent_core(tree: Mapping[str, Tree], path: str) -> Steps:
    """The steps to a core, or to a memory of a core, that designs may lack.

    Raises:
        PathError: if the path leads to neither, or every accelerator has that core.
    """
    number, _, rest = path.removeprefix(f"{CORES}.").partition(".")
    cores = _cores(tree)
    if not path.startswith(f"{CORES}."):
        known = [f"{CORES}.{x}" for x in (*cores_by_name(tree), *cores)]
        raise PathError(f"the unknown part {path!r}", suggestion(path, known))
    if rest:
        return _memory(cores[number], number, rest)
    if OFFCHIP_CORE in tree:
        raise PathError(f"core {number} of the format of 2024", "the current format")
    if number == str(tree.get(OFFCHIP_NUMBER)):
        raise PathError(f"core {number}, which is off the chip", "a core on the chip")
    return CORES, number


def _memory(core: Tree, number: str, rest: str) -> Steps:
    memories = core.get(_MEMORIES) if isinstance(core, dict) else None
    known = memories if isinstance(memories, dict) else {}
    name = rest.removeprefix(f"{_MEMORIES}.")
    if name == rest or name not in known:
        names = [f"{_MEMORIES}.{x}" for x in known]
        raise PathError(f"the unknown part {rest!r} of core {number}", suggestion(rest, names))
    return CORES, number, _MEMORIES, name


def without_absent_cores(tree: dict[str, Tree], absent: Collection[str]) -> dict[str, Tree]:
    """A description of which cores were removed, without what refers to their numbers.

    Connections and shared memories keep their other cores; of a single one nothing is left.
    """
    kept = dict(tree)
    for name in (COORDINATES, COPIES):
        match tree.get(name):
            case dict() as values:
                kept[name] = {x: value for x, value in values.items() if x not in absent}
            case _:
                pass
    for name in (CONNECTIONS, SHARING):
        match tree.get(name):
            case list() as items:
                left = (_among(item, absent) for item in items)
                kept[name] = [item for item in left if item is not None]
            case _:
                pass
    return kept


def _among(item: Tree, absent: Collection[str]) -> Tree:
    """A connection or a shared memory without absent cores; ``None`` if nothing is left."""
    match item:
        case dict():
            left = _among(item.get("cores"), absent)
            hub = item.get("hub")
            is_over = left is None or (hub is not None and str(hub) in absent)
            return None if is_over else {**item, "cores": left}
        case list():
            numbers: list[Tree] = [x for x in item if str(x) not in absent]
            return numbers if _is_left(numbers, item) else None
        case str():
            named = [x.strip() for x in item.split(",")]
            kept = [x for x in named if x not in absent]
            return ", ".join(kept) if _is_left(kept, named) else None
        case _:
            return item


def _is_left(kept: Sized, cores: Sized) -> bool:
    """Whether cores still have something in common; those of a single one have its copies."""
    return len(kept) > 1 or len(kept) == len(cores)
