"""Every model of the onnx package's test data parses, or a stated reason says why it does not.

``pytest -s`` shows the counts.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import onnx
import pytest

from nestmap.model import InputError, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.node_cases import node_cases

FOLDER = Path(onnx.__file__).parent / "backend/test/data"
FOLDERS = ("light", "pytorch-converted", "pytorch-operator", "simple")

REASONS = {
    # The sizes of AffineGrid's output are an input of the network: nobody knows them before it
    # runs, and its expanded form multiplies matrices of those sizes.
    "sizes that depend on values": r"unknown sizes that the array needs: .* \(MatMul\)"
}
"""Why a model may be refused, and how the message begins."""


class Result(NamedTuple):
    """What became of a model: a workload or a message."""

    name: str
    workload: Workload | None
    message: str


@pytest.fixture(scope="module")
def results() -> tuple[Result, ...]:
    return tuple(_results())


def _results() -> Iterator[Result]:
    for case in node_cases().values():
        yield _result(case.name, case.model)
    for path in sorted(path for name in FOLDERS for path in (FOLDER / name).rglob("*.onnx")):
        yield _result(str(path.relative_to(FOLDER)), path)


def _result(name: str, source: onnx.ModelProto | Path) -> Result:
    try:
        return Result(name, parse_onnx(source), "")
    except InputError as error:
        return Result(name, None, error.found)


def _reason(message: str) -> str:
    """The name of the reason; the message itself if it is none of those stated."""
    for name, beginning in REASONS.items():
        if re.match(beginning, message):
            return name
    return message


def _kind(workload: Workload) -> str:
    if workload.unknown_operators:
        return "with unknown operators"
    return "with layers" if workload.layers else "only vector operators and movement"


@pytest.mark.stress
def test_counts(results: tuple[Result, ...]) -> None:
    kinds = Counter(_kind(x.workload) for x in results if x.workload is not None)
    refused = Counter(_reason(x.message) for x in results if x.workload is None)
    unknown = Counter[str]()
    for result in results:
        unknown.update(result.workload.unknown_operators if result.workload is not None else {})
    print(f"\n{len(results)} models: {dict(kinds)}; refused: {dict(refused)}")
    print(f"unknown operators: {dict(unknown.most_common())}")
    assert len(results) >= 2030
    assert refused.total() <= 4
    assert kinds["with layers"] >= 330
    assert kinds["with unknown operators"] <= 90


@pytest.mark.stress
def test_only_stated_reasons(results: tuple[Result, ...]) -> None:
    refused = {x.name: _reason(x.message) for x in results if x.workload is None}
    assert set(refused.values()) <= set(REASONS)


@pytest.mark.stress
def test_every_layer_and_tensor_has_a_meaning(results: tuple[Result, ...]) -> None:
    for result in results:
        if result.workload is not None:
            assert len(result.workload.readers) == len(result.workload.layers)
            assert all(layer.macs > 0 for layer in result.workload.layers)
