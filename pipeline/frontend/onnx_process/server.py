"""The process that reads ONNX files, one after the other."""

import sys
import traceback
import warnings
from pathlib import Path
from typing import Final

from nestmap.model import InputError, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.onnx_file import model_from
from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED
from nestmap.pipeline.frontend.onnx_process.child_process import (
    Frame,
    address_space,
    answer_pipe,
    limit_process,
    requests,
    set_alarm,
    write_frame,
)
from nestmap.pipeline.frontend.onnx_process.messages import (
    GRACE_SECONDS,
    READY,
    OnnxAnswer,
    OnnxLimits,
    OnnxRequest,
    problem_of,
)

_RETAINED_LIMIT: Final = 2**29
"""A process whose address space has grown by more (bytes) is replaced: little of it is freed."""


def serve() -> None:
    """Reads files until the input ends; the main function of the process.

    Its arguments are the limits.
    """
    seconds, memory = sys.argv[1:]
    limits = OnnxLimits(float(seconds), int(memory))
    pipe = answer_pipe()
    limit_process(limits.memory)
    before = address_space()
    write_frame(pipe, Frame(READY))
    for request in requests():
        set_alarm(limits.seconds + GRACE_SECONDS)
        write_frame(pipe, answer_of(request, before))
        set_alarm(0)


def answer_of(request: Frame, before: int) -> Frame:
    """What becomes of a file.

    Args:
        request: which file.
        before: the address space of the process before its first file (bytes).
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = _outcome(request)
    lacks_memory = isinstance(outcome, MemoryError)
    answer = OnnxAnswer(
        warnings=[_warning(each.message, each.category) for each in caught],
        problem=problem_of(outcome) if isinstance(outcome, InputError) else None,
        bug=outcome if isinstance(outcome, str) else None,
        lacks_memory=lacks_memory,
        is_worn=lacks_memory or address_space() - before > _RETAINED_LIMIT,
    )
    body = outcome.model_dump_json() if isinstance(outcome, Workload) else ""
    return Frame(answer.to_json(), body.encode())


def _outcome(request: Frame) -> Workload | InputError | MemoryError | str:
    """The workload, what is wrong with the file, or the traceback of a bug."""
    try:
        return _workload(OnnxRequest.from_json(request.head), request.body)
    except (InputError, MemoryError) as error:
        return error
    except Exception:
        return traceback.format_exc()


def _workload(asked: OnnxRequest, content: bytes) -> Workload:
    source = model_from(content, asked.where) if asked.file is None else Path(asked.file)
    bits = UNSTATED if asked.float_bits is None else asked.float_bits
    return parse_onnx(
        source,
        name=asked.name,
        dims=asked.dims,
        float_bits=bits,
        where=asked.where,
        measures_density=asked.measures_density,
        values=asked.values,
        trust_shapes=asked.trust_shapes,
    )


def _warning(message: Warning | str, category: type[Warning]) -> tuple[str, str, str]:
    return category.__module__, category.__qualname__, str(message)
