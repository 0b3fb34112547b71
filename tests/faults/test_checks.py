"""Every check of descriptions: what is wrong is an error, what is doubtful a warning."""

import warnings
from pathlib import Path

import pytest

import nestmap
from nestmap.model import InputError, InputWarning
from tests.faults.checks import CHECKS, FILES, Check, Outcome, changed


def outcome_of(files: dict[str, str], folder: Path) -> tuple[Outcome, str]:
    """What becomes of an exploration of these files, and the message."""
    paths = {name: folder / f"{name}.yaml" for name in files}
    for name, text in files.items():
        paths[name].write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            nestmap.explore(
                paths["network"],
                paths["accelerator"],
                mapping=paths["mapping"],
                search="loma",
                lpf_limit=3,
            )
        except InputError as error:
            return Outcome.ERROR, str(error)
    told = [str(each.message) for each in caught if issubclass(each.category, InputWarning)]
    return (Outcome.WARNING if told else Outcome.ACCEPTED), "\n".join(told)


@pytest.mark.parametrize("check", CHECKS, ids=lambda x: f"{x.file}-{x.says}")
def test_what_a_description_says_wrongly_is_told(check: Check, tmp_path: Path) -> None:
    outcome, message = outcome_of(changed(check), tmp_path)
    assert outcome is check.outcome, message
    assert check.told in message
    if check.outcome is Outcome.ERROR:
        assert str(tmp_path) in message or " for layer first: " in message
        assert message.count("; expected ") == 1


def test_the_files_without_a_change_are_accepted(tmp_path: Path) -> None:
    assert outcome_of(dict(FILES), tmp_path) == (Outcome.ACCEPTED, "")
