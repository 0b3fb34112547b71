"""Links object files into this process without LLVM, whose library takes 50 MB and 0.07 s.

For Numba, LLVM writes code that refers to everything by its whole address. On Linux with x86-64,
linking is to copy the code and to write the addresses into it.

Source: System V Application Binary Interface, chapter 4 (object files), and its AMD64 supplement,
chapter 4 (relocation).
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple, cast


def link(image: bytes, functions: Sequence[str]) -> tuple[int, ...] | None:
    """The addresses of functions of an object file, which stays loaded until Python ends.

    ``None`` where linking takes more than to write addresses.

    Raises:
        MemoryError: if there is no memory for the code, or none may be executed.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    try:
        return _linked(image, functions)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """The object file has something that those of kernels do not have."""


_FORMAT: Final = b"\x7fELF\x02\x01\x01"  # of 64 bits, the lowest byte first
_HEADER: Final = Struct("<40xQ10xHH")  # where the sections are; bytes that describe one; how many
_SECTION: Final = Struct("<4xIQ8xQQIIQ8x")
_SYMBOL: Final = Struct("<I2xHQQ")
_RELOCATION: Final = Struct("<QIIq")
_ADDRESS: Final = Struct("<Q")

_CONTENT, _SYMBOLS, _RELOCATIONS, _UNWINDING = 1, 2, 4, 0x70000001  # kinds of sections
_WRITABLE, _LOADED = 1, 2  # flags of sections
_UNDEFINED, _COMMON = 0, 0xFFF2  # instead of the section of a symbol: elsewhere; zeros of its own
_WHOLE_ADDRESS: Final = 1  # the kind of relocations


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    def of(self, image: bytes) -> bytes:
        return image[self.offset : self.offset + self.size]


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int
    size: int


def _linked(image: bytes, functions: Sequence[str]) -> tuple[int, ...]:
    sections = _sections(image)
    starts, size = _places(sections)
    content = bytearray(size)
    for number, start in starts.items():
        content[start : start + sections[number].size] = sections[number].of(image)
    base = _reserved(size)
    symbols = _symbols(image, sections)
    places = {number: base + start for number, start in starts.items()}
    addresses = [_address(x, places) for x in symbols]
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in starts:
            _relocate(content, starts[section.info], section.of(image), addresses)
    _load(base, content)
    named = {x.name: address for x, address in zip(symbols, addresses, strict=True)}
    return tuple(cast(int, named[x]) for x in functions)


def _sections(image: bytes) -> list[_Section]:
    if not image.startswith(_FORMAT):
        raise _UnknownError
    first, size, count = cast(tuple[int, int, int], _HEADER.unpack_from(image))
    table = image[first : first + size * count]
    return [_Section(*x) for x in _SECTION.iter_unpack(table)]


def _places(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """Where the sections are loaded, by their numbers, and the bytes of all."""
    starts: dict[int, int] = {}
    end = 0
    for number, section in enumerate(sections):
        if not section.flags & _LOADED or section.kind == _UNWINDING:
            continue
        if section.kind != _CONTENT or section.flags & _WRITABLE:
            raise _UnknownError
        starts[number] = -(-end // max(section.alignment, 1)) * max(section.alignment, 1)
        end = starts[number] + section.size
    return starts, end


def _symbols(image: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    table = next(x for x in sections if x.kind == _SYMBOLS)
    names = sections[table.link].of(image)
    return [
        _Symbol(names[name : names.index(b"\0", name)].decode(), section, value, size)
        for name, section, value, size in _SYMBOL.iter_unpack(table.of(image))
    ]


def _address(symbol: _Symbol, places: dict[int, int]) -> int | None:
    """The address of a symbol; ``None`` if it has none, or is in no loaded section."""
    if symbol.section == _UNDEFINED:
        return _external(symbol.name)
    if symbol.section == _COMMON:
        return _zeros(symbol.size)
    place = places.get(symbol.section)
    return None if place is None else place + symbol.value


def _relocate(
    content: bytearray, start: int, relocations: bytes, addresses: Sequence[int | None]
) -> None:
    """Writes addresses into the section that begins at ``start``."""
    for found in _RELOCATION.iter_unpack(relocations):
        place, kind, symbol, more = cast(tuple[int, int, int, int], found)
        address = addresses[symbol]
        if kind != _WHOLE_ADDRESS or address is None:
            raise _UnknownError
        _ADDRESS.pack_into(content, start + place, address + more)


@lru_cache
def _external(name: str) -> int | None:
    """The address of a function or variable in the libraries of this process."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(_process(), name))
    except ValueError:
        return None


_kept: Final[list[object]] = []
"""What code refers to, for as long as Python runs."""


def _zeros(size: int) -> int:
    zeros = (ctypes.c_char * size)()
    _kept.append(zeros)
    return ctypes.addressof(zeros)


@lru_cache
def _process() -> ctypes.CDLL:
    """All that this process has loaded."""
    loaded = ctypes.CDLL(None)
    number, size = ctypes.c_int, ctypes.c_size_t
    loaded.mmap.argtypes = (ctypes.c_void_p, size, number, number, number, ctypes.c_long)
    loaded.mmap.restype = ctypes.c_void_p
    loaded.mprotect.argtypes = (ctypes.c_void_p, size, number)
    return loaded


def _reserved(size: int) -> int:
    """The address of so many bytes that can be written, and are never given back."""
    access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = cast(int, _process().mmap(None, size, access, kind, -1, 0))
    if address == ctypes.c_void_p(-1).value:
        raise MemoryError
    return address


def _load(base: int, content: bytearray) -> None:
    """Writes code to reserved bytes, and makes them executable instead of writable."""
    ctypes.memmove(base, bytes(content), len(content))
    if _process().mprotect(base, len(content), mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise MemoryError
