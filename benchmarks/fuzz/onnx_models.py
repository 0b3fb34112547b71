"""ONNX models with random faults: each must parse or give an InputError."""

import math
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import EncodeError, Message

from benchmarks.fuzz.harness import Case
from benchmarks.fuzz.onnx_seeds import seed_models
from nestmap.pipeline.frontend.onnx import parse_onnx

_INTEGERS: Final = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
_WORDS: Final = ("", "x", "y", "nobody", "Conv", "MatMul", "If", "Loop", "Reshape", "acme", "N")
_FLOATS: Final = (0.0, -1.0, 1e30, float("inf"), float("nan"))


def mutated(draw: random.Random, models: Sequence[bytes]) -> bytes:
    """A file with faults."""
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


@contextmanager
def begin(folder: Path) -> Generator[Case]:
    """Parses each changed model from a file, in this process, and uses what comes out."""
    models, path = seed_models(), folder / "net.onnx"

    def case(draw: random.Random) -> str:
        path.write_bytes(mutated(draw, models))
        workload = parse_onnx(path)
        assert workload.macs >= 0
        assert workload.content_hash
        assert len(workload.readers) == len(workload.layers)
        return "parsed" if workload.layers else "parsed, no layers"

    yield case
