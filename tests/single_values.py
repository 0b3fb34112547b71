"""Hypothesis strategies for single values, each made once.

Hypothesis examines a strategy before it draws from it for the first time. For those that are made
anew in each example, that takes as long as all drawing.
"""

from functools import lru_cache
from typing import TypeVar, cast

from hypothesis import strategies as st

T = TypeVar("T")

BOOLEANS = st.booleans()


def among(choices: tuple[T, ...]) -> st.SearchStrategy[T]:
    """One of the choices."""
    return cast("st.SearchStrategy[T]", _among(choices, tuple(map(type, choices))))


@lru_cache(maxsize=4096)
def _among(choices: tuple[object, ...], _types: tuple[type, ...]) -> st.SearchStrategy[object]:
    """Kept by the types of the choices, too: ``1 == True``."""
    return st.sampled_from(choices)


@lru_cache(maxsize=4096)
def between(low: int, high: int) -> st.SearchStrategy[int]:
    """A whole number between two, which it may be as well."""
    return st.integers(low, high)


@lru_cache(maxsize=4096)
def either(choices: tuple[int, ...], low: int, high: int) -> st.SearchStrategy[int]:
    """One of the choices, or any whole number between two."""
    return among(choices) | between(low, high)


@lru_cache(maxsize=256)
def numbers(most: int, count: int) -> st.SearchStrategy[list[int]]:
    """So many whole numbers, each at most the largest."""
    return st.lists(between(0, most), min_size=count, max_size=count)
