"""Errors that users cause: each says where, and what would be right."""

from __future__ import annotations

from nestmap.model import InputError


def test_an_error_names_what_was_found_and_what_was_expected() -> None:
    error = InputError("net.yaml:3", "-1", "a size above 0")
    assert str(error) == "net.yaml:3: found -1; expected a size above 0"


def test_a_conflict_names_both_options_and_what_to_do() -> None:
    error = InputError.conflict("--layer", "--what layers", "use --what scatter")
    assert isinstance(error, InputError)
    assert str(error) == "--layer cannot be combined with --what layers; use --what scatter"
    assert (error.where, error.found) == ("--layer", "--what layers")
