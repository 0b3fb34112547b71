"""The errors nestmap raises on purpose: each says where, what was found and what would be right."""

from __future__ import annotations


class NestmapError(Exception):
    """Base of all errors that a user can cause and fix; the command line prints only its text."""


class InputError(NestmapError):
    """Something given to nestmap is wrong.

    ``where`` names the file, line or field, ``found`` what stands there and ``expected`` what
    would be right.
    """

    def __init__(self, where: str, found: str, expected: str) -> None:
        self.where = where
        self.found = found
        self.expected = expected
        super().__init__(f"{where}: found {found}; expected {expected}")

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
