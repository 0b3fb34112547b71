"""Where the designs of a sweep are explored: what ``on`` and ``--on`` say."""

import re
from typing import Final, NamedTuple, TypeAlias

from nestmap.model import InputError

MOST_PROCESSES: Final = 1024

_LOCAL: Final = re.compile(r"local:(\d{1,6})")
_SCHEDULER: Final = re.compile(r"(?:tcp|tls|ucx|ws|wss)://\S+")
_EXPECTED: Final = (
    f"local:N, with 1 to {MOST_PROCESSES} processes of this machine, or a Dask scheduler: "
    "tcp://HOST:PORT or its scheduler file, FILE.json"
)


class LocalProcesses(NamedTuple):
    """Processes of this machine."""

    processes: int


class DaskScheduler(NamedTuple):
    """The scheduler of a Dask cluster: its address, or the file that it writes."""

    where: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return not _SCHEDULER.fullmatch(self.where)

    def __str__(self) -> str:
        return self.where


Place: TypeAlias = LocalProcesses | DaskScheduler


def parse_place(text: str) -> Place:
    """The place that a text names.

    Raises:
        InputError: where it names none.
    """
    if _SCHEDULER.fullmatch(text) or text.endswith(".json"):
        return DaskScheduler(text)
    found = _LOCAL.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= MOST_PROCESSES:
        raise InputError("on", repr(text), _EXPECTED)
    return LocalProcesses(int(found[1]))
