"""The functions of a compiled kernel that are called without Numba, as LLVM code.

Their arguments and results are machine words (see :mod:`nestmap.costmodel.kernel.words`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from llvmlite import ir

from nestmap.costmodel.kernel.machine_code import ENTRY, RELEASE

ALLOCATOR: Final = f"""
declare ptr @malloc(i64)
declare void @free(ptr)

define noalias ptr @NRT_MemInfo_alloc_aligned(i64 %bytes, i32 %align) {{
  %alignment = zext i32 %align to i64
  %room = add i64 %alignment, 64
  %total = add i64 %bytes, %room
  %block = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %end, label %fill
fill:
  %address = ptrtoint ptr %block to i64
  %behind = add i64 %address, %room
  %below = sub i64 0, %alignment
  %aligned = and i64 %behind, %below
  %data = inttoptr i64 %aligned to ptr
  %destructor = getelementptr i64, ptr %block, i64 1
  %argument = getelementptr i64, ptr %block, i64 2
  %place = getelementptr i64, ptr %block, i64 3
  %size = getelementptr i64, ptr %block, i64 4
  store i64 1, ptr %block
  store ptr null, ptr %destructor
  store ptr null, ptr %argument
  store ptr %data, ptr %place
  store i64 %bytes, ptr %size
  br label %end
end:
  ret ptr %block
}}

define noalias ptr @NRT_MemInfo_alloc(i64 %bytes) {{
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %bytes, i32 16)
  ret ptr %block
}}

define noalias ptr @NRT_Allocate(i64 %bytes) {{
  %block = call ptr @malloc(i64 %bytes)
  ret ptr %block
}}

define void @NRT_Free(ptr %block) {{
  call void @free(ptr %block)
  ret void
}}

define void @NRT_MemInfo_call_dtor(ptr %block) {{
  call void @free(ptr %block)
  ret void
}}

define void @{RELEASE}(ptr %block) {{
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %end, label %count
count:
  %before = atomicrmw sub ptr %block, i64 1 acq_rel
  %last = icmp eq i64 %before, 1
  br i1 %last, label %delete, label %end
delete:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}}
"""
"""What Numba's code asks of its runtime, which only exists where Numba is imported.

A block begins with the references to it, a destructor and its argument, the address of the data
and their size. Source: ``_meminfo_struct_type`` in numba/core/runtime/nrtdynmod.py.
"""

_WORD: Final = ir.IntType(64)


def add_entry(module: ir.Module, compiled: ir.FunctionType, name: str) -> None:
    """Adds the function ``ENTRY`` to a module: it calls the one that Numba has compiled.

    That one takes where to put the result, where to put an exception, and the parts of the
    arguments. Source: ``CPUCallConv`` in numba/core/callconv.py.
    """
    entry = ir.Function(
        module, ir.FunctionType(compiled.return_type, [_WORD.as_pointer()]), name=ENTRY
    )
    builder = ir.IRBuilder(entry.append_basic_block())
    block = entry.args[0]
    result, exception = (_space_for(builder, x) for x in compiled.args[:2])
    taken = [
        _from_word(builder, builder.load(_word_at(builder, block, n)), kind)
        for n, kind in enumerate(compiled.args[2:])
    ]
    kernel = ir.Function(module, compiled, name)
    status = builder.call(kernel, [result, exception, *taken])
    for n, leaf in enumerate(_leaves(builder, builder.load(result))):
        builder.store(_to_word(builder, leaf), _word_at(builder, block, n))
    builder.ret(status)


def _space_for(builder: ir.IRBuilder, pointer: ir.Type) -> ir.Value:
    assert isinstance(pointer, ir.PointerType)
    return builder.alloca(pointer.pointee)


def _word_at(builder: ir.IRBuilder, block: ir.Value, number: int) -> ir.Value:
    return builder.gep(block, [ir.Constant(_WORD, number)])


def _from_word(builder: ir.IRBuilder, word: ir.Value, kind: ir.Type) -> ir.Value:
    if isinstance(kind, ir.PointerType):
        return builder.inttoptr(word, kind)
    if isinstance(kind, ir.DoubleType):
        return builder.bitcast(word, kind)
    return builder.trunc(word, kind)


def _to_word(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.PointerType):
        return builder.ptrtoint(value, _WORD)
    if isinstance(value.type, ir.DoubleType):
        return builder.bitcast(value, _WORD)
    return builder.zext(value, _WORD)


def _leaves(builder: ir.IRBuilder, value: ir.Value) -> Iterator[ir.Value]:
    """The scalars in a value, from left to right."""
    if not isinstance(value.type, ir.Aggregate):
        yield value
        return
    for position in range(len(value.type.elements)):
        yield from _leaves(builder, builder.extract_value(value, position))
