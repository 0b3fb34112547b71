"""Kinds of runs, and their status."""

from enum import StrEnum


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class RunKind(StrEnum):
    """The kind of a run."""

    EXPLORE = "explore"
    """A network, layer by layer, on one core."""
    STREAM = "stream"
    """A network of computation nodes on several cores."""
