"""The kernels of an evaluation: what each says that it reads and fills is true, and in order."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import NamedTuple, cast

import pytest

from nestmap.costmodel.evaluate_rows import evaluate_row, load_row

WORK = "work"
SAID = re.compile(r"^Reads: ([\w,\s]+)\.\nFills: ([\w,\s]+)\.$", re.MULTILINE)


class Effects(NamedTuple):
    """The fields of a record that a function reads, and those that it assigns (elements of)."""

    reads: frozenset[str]
    fills: frozenset[str]


def plain(kernel: object) -> FunctionType | None:
    """The function that a kernel was made from, if it is one."""
    function: object = getattr(kernel, "py_func", kernel)
    is_own = isinstance(function, FunctionType) and function.__module__.startswith("nestmap.")
    return cast(FunctionType, function) if is_own else None


def body_of(function: FunctionType) -> ast.FunctionDef:
    """The definition of a function."""
    found = ast.parse(inspect.getsource(function)).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def called(node: ast.Call, function: FunctionType) -> FunctionType | None:
    """The function of this package that a call in a function calls."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return plain(function.__globals__.get(name))


def field_of(node: ast.AST, record: str) -> str | None:
    """``x`` of ``record.x``."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return node.attr if node.value.id == record else None


def targets(node: ast.AST) -> Iterator[ast.AST]:
    """What statements in a node assign to; of elements of an array, the array."""
    for child in ast.walk(node):
        match child:
            case ast.Subscript(value=array, ctx=ast.Store()):
                yield array
            case ast.Attribute(ctx=ast.Store()) | ast.Name(ctx=ast.Store()):
                yield child
            case _:
                pass


def filled_arrays(function: FunctionType) -> set[int]:
    """The places of the parameters into which a function writes."""
    definition = body_of(function)
    filled: set[str] = set()
    for node in ast.walk(definition):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                filled.add(name)
            case _:
                pass
    return {i for i, argument in enumerate(definition.args.args) if argument.arg in filled}


def effects(function: FunctionType, node: ast.AST, record: str = WORK) -> Effects:
    """What a node of a function's body does to a record, with all that it calls."""
    filled = {field for target in targets(node) if (field := field_of(target, record))}
    read: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and (callee := called(child, function)):
            for place, argument in enumerate(child.args):
                if isinstance(argument, ast.Name) and argument.id == record:
                    definition = body_of(callee)
                    inner = effects(callee, definition, definition.args.args[place].arg)
                    read |= inner.reads
                    filled |= inner.fills
                elif (name := field_of(argument, record)) and place in filled_arrays(callee):
                    filled.add(name)
        name = field_of(child, record)
        if name and isinstance(cast(ast.Attribute, child).ctx, ast.Load):
            read.add(name)
    return Effects(frozenset(read - filled), frozenset(filled))


def steps(function: Callable[..., object]) -> list[tuple[ast.stmt, Effects]]:
    """The statements of a function and what each does to the work arrays."""
    source = plain(function)
    assert source is not None
    return [(statement, effects(source, statement)) for statement in body_of(source).body]


def kernels() -> list[FunctionType]:
    """The functions that the evaluation of a row calls with the work arrays."""
    source = plain(evaluate_row)
    assert source is not None
    calls = [node for node in ast.walk(body_of(source)) if isinstance(node, ast.Call)]
    with_work = [x for x in calls if any(isinstance(a, ast.Name) and a.id == WORK for a in x.args)]
    return [found for node in with_work if (found := called(node, source))]


@pytest.mark.parametrize("function", kernels(), ids=lambda function: function.__name__)
def test_a_kernel_reads_and_fills_what_it_says(function: FunctionType) -> None:
    said = SAID.search(inspect.getdoc(function) or "")
    assert said, "two lines: 'Reads: a, b.' and 'Fills: c.' (or 'nothing')"
    reads, fills = (frozenset(re.split(r",\s", part)) - {"nothing"} for part in said.groups())
    assert Effects(reads, fills) == effects(function, body_of(function))


def test_nothing_is_read_before_it_is_filled() -> None:
    assert len(kernels()) > 10
    filled = {field for _, step in steps(load_row) for field in step.fills}
    assert {"loops", "dimension", "factor", "cut"} == filled
    for statement, step in steps(evaluate_row):
        assert step.reads <= filled, ast.unparse(statement)
        filled |= step.fills


def test_an_order_that_is_wrong_is_found() -> None:
    found = [step for _, step in steps(evaluate_row) if step.fills]
    filled = {"loops", "dimension", "factor", "cut"}
    assert not found[1].reads <= filled  # cycles need what the first kernel fills
