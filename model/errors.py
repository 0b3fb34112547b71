"""The errors nestmap raises on purpose: each says where, what was found and what would be right."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Self

from pydantic import ValidationError


class NestmapError(Exception):
    """Base of all errors that a user can cause and fix; the command line prints only its text."""


class InputError(NestmapError):
    """Something given to nestmap is wrong.

    ``where`` names the file, line or field, ``found`` what is there and ``expected`` what would be
    right.
    """

    def __init__(self, where: str, found: str, expected: str) -> None:
        self.where = where
        self.found = found
        self.expected = expected
        super().__init__(f"{where}: found {found}; expected {expected}")

    @classmethod
    def of(cls, where: str, error: ValidationError) -> Self:
        """What a model says about values given at ``where``."""
        return cls(where, *violation(error))

    @classmethod
    def conflict(cls, option: str, other: str, hint: str) -> InputError:
        """The error about options that exclude each other; ``hint`` says what to do instead."""
        error = cls(option, other, hint)
        error.args = (f"{option} cannot be combined with {other}; {hint}",)
        return error


class InfeasibleError(NestmapError):
    """No mapping fits: the text names the memory, the operand, what it needs and what it has."""


class StoreError(NestmapError):
    """The store cannot be opened, read or written; the text says why and what to do."""


def violation(error: ValidationError) -> tuple[str, str]:
    """What a model found and what it expected, in words."""
    first = error.errors()[0]
    if first["type"] == "value_error":
        found, _, expected = first["msg"].removeprefix("Value error, ").partition("; expected ")
        return found, expected or "a valid value"
    field = ".".join(str(part) for part in first["loc"])
    return f"{shortened(repr(first['input']))} as {field}", first["msg"].removeprefix(
        "Input should be "
    )


def suggestion(name: str, known: Collection[str]) -> str:
    """The known name that was probably meant, and all known names."""
    near = get_close_matches(name, known, n=1)
    choices = f"one of {', '.join(known)}" if known else "none"
    return f"{near[0]} ({choices})" if near else choices


def shortened(text: str) -> str:
    """The first 60 characters of a text, for errors."""
    return text if len(text) <= 60 else f"{text[:57]}..."
