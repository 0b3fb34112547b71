"""What the process that reads ONNX files is asked, and what it answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Final, NamedTuple, final

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx_bytes import InputValue

READY: Final = b"ready"
"""What the process says when it can read files."""

GRACE_SECONDS: Final = 2.0
"""For how long the process outlives its time if the parent, which would kill it, has ended."""


class OnnxLimits(NamedTuple):
    """How long reading one file may take (s), and how much memory (bytes)."""

    seconds: float = 120.0
    memory: int = 8 * 2**30


@final
@dataclass(frozen=True)
class OnnxRequest:
    """An ONNX file to read, and how.

    Attributes:
        where: the file as the user names it, for messages.
        name: the name of the workload.
        file: its absolute path; ``None`` if the body of the request holds its content.
        dims: sizes of symbolic dimensions.
        float_bits: the bits of a float element, if stated.
        measures_density: whether to count the zeros of constants.
        values: the values of inputs that decide what runs.
        trust_shapes: whether shapes are as the model states them.
    """

    where: str
    name: str
    file: str | None
    dims: dict[str, int]
    float_bits: int | None
    measures_density: bool = False
    values: dict[str, InputValue] = field(default_factory=dict[str, "InputValue"])
    trust_shapes: bool = False

    def to_json(self) -> bytes:
        """The request as text; JSON of the standard library also has names that are not UTF-8."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(text: bytes) -> OnnxRequest:
        """The request in a text."""
        return OnnxRequest(**json.loads(text))


@final
@dataclass(frozen=True)
class OnnxAnswer:
    """What became of a file; the body of the answer holds the workload, if there is one.

    Attributes:
        warnings: module, class and text of the warnings.
        problem: ``where``, ``found``, ``expected`` and text of the :class:`InputError`.
        bug: the traceback of any other error.
        lacks_memory: whether the file needs more memory than the limit.
        is_worn: whether the process should be replaced.
    """

    warnings: list[tuple[str, str, str]]
    problem: tuple[str, str, str, str] | None = None
    bug: str | None = None
    lacks_memory: bool = False
    is_worn: bool = False

    def to_json(self) -> bytes:
        """The answer as text."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(text: bytes) -> OnnxAnswer:
        """The answer in a text."""
        return OnnxAnswer(**json.loads(text))


def problem_of(error: InputError) -> tuple[str, str, str, str]:
    """The parts of an error."""
    return error.where, error.found, error.expected, str(error)


def error_of(problem: tuple[str, str, str, str]) -> InputError:
    """The error with these parts."""
    where, found, expected, text = problem
    error = InputError(where, found, expected)
    error.args = (text,)  # differs for options that cannot be combined
    return error
