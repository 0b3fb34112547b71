"""docs/design.md draws the tree as it is, and follows a node as a run does."""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from nestmap.pipeline.cli.commands import command_line
from tests.docs_pages.house_page import PAGE, drawn_tree, tree

STEP: Final = re.compile(r"^\| `([a-z_/]+)/` \| (.+?) \| .+ \|$", re.MULTILINE)
FUNCTION: Final = re.compile(r"`(\w+)\.([\w.]+)`")


def walk() -> list[tuple[str, str, str]]:
    """Room, module and function of every step of the walk."""
    section = PAGE.read_text(encoding="utf-8").split("## One node, from file to bar")[1]
    section = section.split("\n## ")[0]
    rows = STEP.findall(section)
    assert len(rows) == section.count("\n| `") > 0
    return [
        (room, module, function)
        for room, functions in rows
        for module, function in FUNCTION.findall(functions)
    ]


def code_of(room: str, module: str, function: str) -> CodeType:
    """The code of a function that the walk names."""
    found: object = import_module(f"nestmap.{room.replace('/', '.')}.{module}")
    for name in function.split("."):
        found = getattr(found, name)
    if callable(found):
        found = unwrap(found)
    code: object = getattr(found, "__code__", None)
    assert isinstance(code, CodeType), f"{room}/{module}.py: {function} is no plain function"
    return code


@contextmanager
def called(codes: set[CodeType]) -> Generator[list[CodeType]]:
    """Some of the functions, in the order of their first calls."""
    order: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes and frame.f_code not in order:
            order.append(frame.f_code)

    sys.setprofile(note)
    try:
        yield order
    finally:
        sys.setprofile(None)


def write_conv(path: Path) -> None:
    """A model of one convolution."""
    weights = numpy_helper.from_array(np.zeros((16, 8, 3, 3), np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])
    sizes = {"x": (1, 8, 14, 14), "y": (1, 16, 14, 14)}
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in sizes.items())
    model = helper.make_model(helper.make_graph([node], "one", [x], [y], [weights]))
    path.write_bytes(model.SerializeToString())


def test_the_page_draws_the_tree_of_the_folders() -> None:
    assert drawn_tree() == tree(), "python -m tests.docs_pages.house_page writes it"


def test_the_walk_enters_no_room_twice_but_where_it_says_why() -> None:
    rooms = [room for room, _ in STEP.findall(PAGE.read_text(encoding="utf-8"))]
    section = PAGE.read_text(encoding="utf-8").partition("entered twice, and why:")[2]
    twice = {room for room in rooms if rooms.count(room) > 1}
    assert twice == set(re.findall(r"^- `([a-z_/]+)/`: ", section.split("\n## ")[0], re.MULTILINE))


def test_a_run_calls_the_functions_of_the_walk_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NESTMAP_ONNX_IN_PROCESS", "1")
    write_conv(tmp_path / "one.onnx")
    steps = {code_of(*step): step for step in walk()}
    with called(set(steps)) as order:
        explore = ("explore", "one.onnx", "--accelerator", "tpu_like", "--search", "loma")
        run(*explore, "--lpf-limit", "4", "--workers", "1")
        run("report", "last")
    assert [steps[code] for code in order] == list(steps.values())


def run(*arguments: str) -> None:
    """One call of the command line."""
    with pytest.raises(SystemExit) as end:
        command_line(arguments)(arguments)
    assert not end.value.code
