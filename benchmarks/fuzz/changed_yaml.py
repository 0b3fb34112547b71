"""Random faults in YAML: of its text, and of the values in it."""

import random
from collections.abc import Iterator
from typing import Final

import yaml

Tree = dict[str | int, "Tree"] | list["Tree"] | str | int | float | bool | None
Holder = dict[str | int, Tree] | list[Tree]

_VALUES: Final[tuple[Tree, ...]] = (
    *(None, True, "", "x", "D1", "OX", "I1", "O, tl", "K, 2", "ix=2*ox+fx", "default"),
    *(-1, 0, 1, 2, 3, 7, 64, 10**6, 2**31, 2**62, 2**64, -0.5, 1e-300, 1e300),
    *(float("inf"), float("nan")),
)
_COLLECTIONS: Final[tuple[Tree, ...]] = ([], {}, [1, 1], {"K": 2}, ["K"])
_PIECES: Final = (
    *("\t", ":", "-", "{", "}", "[", "]", "&a", "*a", "!!int", "<<: ", "#", "'", '"', "\x00"),
    *("\n", "- ", "? ", "|", ">", "%", "@", "0x", "1e9", "010", "1:30", ".nan", "\ufeff", "é"),
)


def changed(draw: random.Random, text: str) -> str:
    """The text with a few faults: half the time in its numbers only."""
    if draw.random() < 0.2:
        return _with_faults(draw, text)
    tree: Tree = yaml.safe_load(text)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if draw.random() < 0.6:
            _change_number(draw, tree)
        else:
            tree = _change(draw, tree)
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def _change_number(draw: random.Random, tree: Tree) -> None:
    """Changes one number, if there is one: most such files are valid."""
    places = list(_numbers(tree))
    if places:
        holder, key, value = draw.choice(places)
        factors = (value + 1, value - 1, value * 2, value // 2, value * 100, 0)
        holder[key] = draw.choice(factors)  # type: ignore[index]  # the key is one of this holder


def _numbers(tree: Tree) -> Iterator[tuple[Holder, str | int, int | float]]:
    """Where numbers stand, and which."""
    if not isinstance(tree, dict | list):
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield tree, key, value
        else:
            yield from _numbers(value)


def _with_faults(draw: random.Random, text: str) -> str:
    """Lines or characters left out, doubled, swapped or put in."""
    lines = text.split("\n")
    for _ in range(draw.choice((1, 1, 2, 5))):
        place = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0:
                del lines[place : place + draw.choice((1, 1, 5))]
            case 1:
                lines.insert(place, draw.choice(lines))
            case 2:
                lines[place] = lines[place].strip()
            case 3:
                lines[place] = lines[place].replace(draw.choice(", []{}:*+"), draw.choice(_PIECES))
            case _:
                cut = draw.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:cut] + draw.choice(_PIECES) + lines[place][cut:]
        if not lines:
            break
    return "\n".join(lines)


def _change(draw: random.Random, tree: Tree) -> Tree:
    """The tree with one place changed."""
    if isinstance(tree, dict) and tree:
        return _change_mapping(draw, dict(tree))
    if isinstance(tree, list) and tree:
        return _change_list(draw, list(tree))
    if isinstance(tree, int) and not isinstance(tree, bool) and draw.random() < 0.6:
        return draw.choice((tree + 1, tree - 1, tree * 2, -tree, tree * 1000, tree // 2))
    return draw.choice((*_VALUES, *_COLLECTIONS))


def _change_mapping(draw: random.Random, tree: dict[str | int, Tree]) -> Tree:
    key = draw.choice(list(tree))
    if draw.random() < 0.85:
        tree[key] = _change(draw, tree[key])
        return tree
    value = tree.pop(key)
    match draw.randrange(4):
        case 0:
            return tree
        case 1:
            return tree | {draw.choice(("x", "name", str(key).upper(), f"{key}s")): value}
        case 2:
            return tree | {key: value, f"{key}2": value}
        case _:
            return tree | {key: draw.choice((*_VALUES, *_COLLECTIONS))}


def _change_list(draw: random.Random, tree: list[Tree]) -> Tree:
    place = draw.randrange(len(tree))
    if draw.random() < 0.8:
        tree[place] = _change(draw, tree[place])
        return tree
    match draw.randrange(4):
        case 0:
            del tree[place]
        case 1:
            tree.insert(place, draw.choice(tree))
        case 2:
            tree.append(draw.choice((*_VALUES, *_COLLECTIONS)))
        case _:
            draw.shuffle(tree)
    return tree
