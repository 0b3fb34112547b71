"""Faults in a file, and the check that a parser names them where they are."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nestmap.model import Frozen, InputError

Parse = Callable[[Path], Frozen]


@dataclass(frozen=True)
class Fault:
    """A change of a good text and the error that it must give.

    ``where`` is line and path; ``found`` and ``expected`` words of the message.
    """

    old: str
    new: str
    where: str
    found: str
    expected: str


def check_located(parse: Parse, text: str, fault: Fault, file: Path) -> None:
    """Checks that the changed text is refused with the right words; ``file`` is written."""
    assert fault.old in text
    file.write_text(text.replace(fault.old, fault.new, 1))
    with pytest.raises(InputError) as raised:
        parse(file)
    assert raised.value.where == f"{file}:{fault.where}"
    assert fault.found in raised.value.found
    assert fault.expected in raised.value.expected
