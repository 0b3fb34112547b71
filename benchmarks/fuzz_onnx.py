"""Feeds the ONNX front-end models with random faults: each must parse or give an InputError.

python -m benchmarks.fuzz_onnx --cases 10000 --seed 0     counts by outcome, and all failures
python -m benchmarks.fuzz_onnx --seed 0 --case 1234       one case again, in this process

Cases run in a process of their own with limits on memory and time, so that a crash of the onnx
library, a hang or a flood of memory is counted and put down to its case.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import EncodeError, Message

from benchmarks.fuzz_seeds import seed_models
from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx import parse_onnx

MEMORY: Final = 4 * 2**30
"""Bytes of address space that a case may take."""

FLOOD: Final = 2**29
"""Bytes that a case may add to what its process held before; the seeds are far smaller."""

SECONDS: Final = 20.0
"""How long a case may take; the largest seeds need less than one."""

_INTEGERS: Final = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
_WORDS: Final = ("", "x", "y", "nobody", "Conv", "MatMul", "If", "Loop", "Reshape", "acme", "N")
_FLOATS: Final = (0.0, -1.0, 1e30, float("inf"), float("nan"))


@final
@dataclass(frozen=True)
class Outcome:
    """What became of a case: ``parsed``, ``refused`` or a failure with its reason."""

    kind: str
    reason: str = ""


def mutated(seed: int, case: int, models: Sequence[bytes]) -> bytes:
    """The file of a case: the same for the same seed and number."""
    draw = random.Random(f"{seed}/{case}")
    data = draw.choice(models)
    if draw.random() < 0.2:
        return _torn(draw, data)
    model = onnx.ModelProto.FromString(data)
    for _ in range(draw.choice((1, 1, 2, 4, 8))):
        _change(draw, model)
    try:
        return model.SerializeToString()
    except (EncodeError, ValueError):
        return data


def _torn(draw: random.Random, data: bytes) -> bytes:
    """Some bytes changed, inserted or left out, or the end cut off."""
    raw = bytearray(data)
    if draw.random() < 0.3:
        return bytes(raw[: draw.randrange(len(raw) + 1)])
    for _ in range(draw.choice((1, 2, 8))):
        place = draw.randrange(len(raw))
        match draw.randrange(3):
            case 0:
                raw[place] = draw.randrange(256)
            case 1:
                raw.insert(place, draw.randrange(256))
            case _:
                del raw[place : place + draw.randrange(1, 9)]
        if not raw:
            break
    return bytes(raw)


def _change(draw: random.Random, model: onnx.ModelProto) -> None:
    """Change one field somewhere in the model."""
    message: Message = model
    while True:
        fields = [field for field, _ in message.ListFields()]
        if not fields:
            return
        (field,) = draw.choices(fields, [_weight(message, field) for field in fields])
        if field.message_type is None:
            _change_value(draw, message, field)
            return
        inner = _messages(message, field)
        if draw.random() < 0.15:
            _change_structure(draw, message, field)
            return
        message = draw.choice(inner)


def _weight(message: Message, field: FieldDescriptor) -> float:
    """How often to go on in a field: large parts more often, but not by as much."""
    if field.message_type is None:
        return 1.0
    size: int = sum(part.ByteSize() for part in _messages(message, field))
    return 4.0 + math.sqrt(size)


def _messages(message: Message, field: FieldDescriptor) -> list[Message]:
    value = getattr(message, field.name)
    return list(value) if _is_repeated(field) else [value]


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _change_structure(draw: random.Random, message: Message, field: FieldDescriptor) -> None:
    """Leave a part out, or let it stand twice or elsewhere."""
    if not _is_repeated(field):
        message.ClearField(field.name)
        return
    parts = getattr(message, field.name)
    match draw.randrange(3):
        case 0:
            del parts[draw.randrange(len(parts))]
        case 1:
            parts.append(draw.choice(parts))
        case _:
            first = draw.randrange(len(parts))
            parts.append(parts[first])
            del parts[first]


def _change_value(draw: random.Random, message: Message, field: FieldDescriptor) -> None:
    if draw.random() < 0.1:
        message.ClearField(field.name)
        return
    if not _is_repeated(field):
        _try(lambda: setattr(message, field.name, _value(draw, field)))
        return
    values = getattr(message, field.name)
    match draw.randrange(3):
        case 0:
            _try(lambda: values.append(_value(draw, field)))
        case 1:
            del values[draw.randrange(len(values))]
        case _:
            place = draw.randrange(len(values))
            _try(lambda: values.__setitem__(place, _value(draw, field)))


def _try(change: Callable[[], object]) -> None:
    """Make a change that protobuf may refuse: a number may be too large for its field."""
    try:
        change()
    except (ValueError, TypeError):
        return


def _value(draw: random.Random, field: FieldDescriptor) -> object:
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return draw.choice(_FLOATS)
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice(_WORDS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return draw.randbytes(draw.choice((0, 1, 8, 100)))
    return draw.choice(_INTEGERS) if draw.random() < 0.5 else draw.randrange(-2, 30)


def outcome_of(path: Path) -> Outcome:
    """Parse a file, and use what comes out."""
    try:
        workload = parse_onnx(path)
        assert workload.macs >= 0
        assert workload.content_hash
        assert len(workload.readers) == len(workload.layers)
    except InputError as error:
        text = str(error)
        return Outcome("refused") if "\n" not in text else Outcome("FAILED", "lines in a message")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
        return Outcome("FAILED", reason.partition("\n")[0][:160])
    return Outcome("parsed" if workload.layers else "parsed, no layers")


def _work(pipe: Connection, seed: int, cases: Sequence[int], models: Sequence[bytes]) -> None:
    """Run cases in this process; say before each which one it is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        for case in cases:
            path.write_bytes(mutated(seed, case, models))
            pipe.send(case)
            before = _peak()
            outcome, more = outcome_of(path), _peak() - before
            pipe.send(outcome if more < FLOOD else Outcome("FLOODED", f"{more / 2**20:.0f} MiB"))


def _peak() -> int:
    """Bytes of memory that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(seed: int, cases: Sequence[int], models: Sequence[bytes]) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of cases; a process that dies or hangs is replaced by another."""
    left = list(cases)
    while left:
        here, there = get_context("fork").Pipe(duplex=False)
        worker = get_context("fork").Process(target=_work, args=(there, seed, left, models))
        worker.start()
        there.close()
        for case, outcome in _received(here):
            yield case, outcome
            left = left[left.index(case) + 1 :]
        worker.terminate()
        worker.join()
        here.close()


def _received(pipe: Connection) -> Iterator[tuple[int, Outcome]]:
    """What a process says of its cases, until it ends, dies or hangs."""
    while True:
        try:
            case: int = pipe.recv()
        except EOFError:
            return
        if not pipe.poll(SECONDS):
            yield case, Outcome("HUNG", f"more than {SECONDS:.0f} s")
            return
        try:
            outcome: Outcome = pipe.recv()
        except EOFError:
            yield case, Outcome("CRASHED", "the process died")
            return
        yield case, outcome


def main() -> None:
    """Run cases and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    models = seed_models()
    if asked.case is not None:
        print(parse_onnx(onnx.ModelProto.FromString(mutated(asked.seed, asked.case, models))))
        return
    start, counts, failures = time.perf_counter(), Counter[str](), 0
    for case, outcome in run(asked.seed, range(asked.cases), models):
        counts[outcome.kind] += 1
        if outcome.reason:
            failures += 1
            print(f"case {case}: {outcome.kind}: {outcome.reason}", flush=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{sum(counts.values())} cases of {len(models)} models in {seconds:.0f} s")
    print(f"largest process {peak:.0f} MiB; failures {failures}")
    for kind, count in counts.most_common():
        print(f"{count:7d} {kind}")


if __name__ == "__main__":
    main()
