"""Errors about input: where, what was found, what would be right."""

from __future__ import annotations

import pytest
from pydantic import ValidationError, model_validator

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError, suggestion


class Even(Frozen, frozen=True):
    """A model that rejects some numbers."""

    number: int

    @model_validator(mode="after")
    def _is_even(self) -> Even:
        if self.number % 2:
            raise ValueError(f"{self.number}; expected an even number")
        return self


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"number": 3}, "here: found 3; expected an even number"),
        ({"number": "x"}, "here: found 'x' as number; expected a valid integer"),
        ({"number": "x" * 99}, f"here: found '{'x' * 56}... as number; expected a valid"),
    ],
)
def test_what_a_model_rejects(given: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError) as rejected:
        Even.model_validate(given)
    error = InputError.of("here", rejected.value)
    assert error.where == "here"
    assert str(error).startswith(text)


def test_a_suggestion_names_what_is_near_and_what_is_known() -> None:
    assert suggestion("tpu_lke", ("tpu_like", "eyeriss")) == "tpu_like (one of tpu_like, eyeriss)"
    assert suggestion("x", ("tpu_like", "eyeriss")) == "one of tpu_like, eyeriss"
    assert suggestion("x", ()) == "none"


def test_an_error_names_what_was_found_and_what_was_expected() -> None:
    error = InputError("net.yaml:3", "-1", "a size above 0")
    assert str(error) == "net.yaml:3: found -1; expected a size above 0"


def test_a_conflict_names_both_options_and_what_to_do() -> None:
    error = InputError.conflict("--layer", "--what layers", "use --what scatter")
    assert isinstance(error, InputError)
    assert str(error) == "--layer cannot be combined with --what layers; use --what scatter"
    assert (error.where, error.found) == ("--layer", "--what layers")
