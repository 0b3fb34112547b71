"""Figures as one short text that is the same on every machine and tells of any change."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from math import pi

Figures = str | int | float | bool | None | Sequence["Figures"] | Mapping[str, "Figures"]
"""What JSON holds."""


def digest(figures: Iterable[Figures]) -> str:
    """16 hex digits of all figures, floats to nine significant digits."""
    text = json.dumps([_rounded(x) for x in figures], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Figures) -> Figures:
    if isinstance(value, float):
        # figures with few digits lie right between two texts, where the last bit decides: not so
        # their multiples of an odd number
        return f"{value * pi:.8e}"
    if isinstance(value, Mapping):
        return {name: _rounded(x) for name, x in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(x) for x in value]
    return value
