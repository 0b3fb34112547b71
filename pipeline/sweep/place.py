"""Where the designs of a sweep are explored: what ``on`` and ``--on`` say."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from nestmap.model import InputError

MOST_PROCESSES: Final = 1024

_LOCAL: Final = re.compile(r"local:(\d{1,6})")
_EXPECTED: Final = f"local:N, with 1 to {MOST_PROCESSES} processes of this machine"


class LocalProcesses(NamedTuple):
    """Processes of this machine."""

    processes: int


def parse_place(text: str) -> LocalProcesses:
    """The place that a text names.

    Raises:
        InputError: where it names none.
    """
    found = _LOCAL.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= MOST_PROCESSES:
        raise InputError("on", repr(text), _EXPECTED)
    return LocalProcesses(int(found[1]))
