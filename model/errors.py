"""The errors and warnings of nestmap: each says where, what was found and what would be right."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from difflib import get_close_matches
from itertools import islice
from typing import Final, Self

from pydantic import ValidationError

_LONGEST_PART: Final = 2000
"""The largest number of characters of a part of a message; what users give can be megabytes."""

_MOST_LISTED: Final = 60
"""How many names a message lists."""


class NestmapError(Exception):
    """Base of all errors that a user can cause and fix; the command line prints only its text."""


class InputError(NestmapError):
    """Something given to nestmap is wrong.

    ``where`` names the file, line or field, ``found`` what is there and ``expected`` what would be
    right.
    """

    def __init__(self, where: str, found: str, expected: str) -> None:
        self.where = shortened(where, _LONGEST_PART)
        self.found = shortened(found, _LONGEST_PART)
        self.expected = shortened(expected, _LONGEST_PART)
        super().__init__(f"{self.where}: found {self.found}; expected {self.expected}")

    @classmethod
    def of(cls, where: str, error: ValidationError) -> Self:
        """What a model says about values given at ``where``."""
        return cls(where, *violation(error))

    def inside(self, place: str) -> InputError:
        """The same error about something that is named at ``place``."""
        error = InputError(f"{place}: {self.where}", self.found, self.expected)
        error.args = (f"{place}: {self}",)
        return error

    @classmethod
    def conflict(cls, option: str, other: str, hint: str) -> InputError:
        """The error about options that exclude each other; ``hint`` says what to do instead."""
        error = cls(option, other, hint)
        error.args = (f"{option} cannot be combined with {other}; {hint}",)
        return error


def check_kind(where: str, given: object, kinds: tuple[type, ...], expected: str) -> None:
    """Checks what a Python program gives, which need not be what the signature says.

    Raises:
        InputError: if it is none of these kinds.
    """
    if not isinstance(given, kinds) or (isinstance(given, bool) and bool not in kinds):
        raise InputError(where, shortened(repr(given)), expected)


class InputWarning(UserWarning):
    """Something given to nestmap is valid and probably a mistake: a name that nothing else has.

    The text is like that of an :class:`InputError`. ``warnings.simplefilter("error",
    InputWarning)`` makes errors of these warnings, as ``--strict`` does on the command line.
    """


def warn_of_input(where: str, found: str, expected: str) -> None:
    """Warns of something given at ``where`` (:class:`InputWarning`)."""
    warnings.warn(InputWarning(str(InputError(where, found, expected))), stacklevel=2)


class InfeasibleError(NestmapError):
    """No mapping fits: the text names the memory, the operand, what it needs and what it has."""


class InfeasibleWarning(UserWarning):
    """No mapping of some layers fits, so that totals are without them."""


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
    near, choices = nearest(name, known), f"one of {_listed(known)}" if known else "none"
    return choices if near is None else f"{near} ({choices})"


def _listed(names: Collection[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(islice(names, _MOST_LISTED)) + (f" and {more:,} more" if more > 0 else "")


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that was probably meant, in upper or lower case, if any is similar."""
    lower = {choice.lower(): choice for choice in reversed(tuple(known))}
    return next((lower[x] for x in get_close_matches(name.lower(), lower, n=1)), None)


def shortened(text: str, longest: int = 60) -> str:
    """The first characters of a text, for errors."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
