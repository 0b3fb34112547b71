"""Object files are linked by writing addresses where that suffices, and by LLVM elsewhere."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from nestmap.costmodel.kernel import machine_code
from nestmap.costmodel.kernel.compiler import callee, compile_entry
from nestmap.costmodel.kernel.llvm_linker import link_by_llvm
from nestmap.costmodel.kernel.machine_code import ENTRY, RELEASE, Entry, MachineCode
from nestmap.costmodel.kernel.object_file import link
from nestmap.costmodel.kernel.words import Words
from nestmap.model.arrays import Floats

WHOLE_ADDRESS, RELATIVE = (kind.to_bytes(4, "little") for kind in (1, 2))

links_here = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM links"
)


def powers(values: Floats, least: int) -> tuple[Floats, Floats]:
    """Allocates, calls the library, has constants and a jump table, and may fail."""
    made = np.zeros(len(values))
    for n in range(len(values)):
        made[n] = values[n] ** 1.5 + 0.3
    return made, np.arange(least, least + 4).astype(np.float64)


ARGUMENTS = (np.array([1.0, 2.0, 7.0]), 5)


@pytest.fixture(scope="module")
def code() -> MachineCode:
    return compile_entry(callee(powers, is_inlined=False), ARGUMENTS)


def result(code: MachineCode) -> list[list[float]]:
    words = Words(ARGUMENTS)
    made = cast(tuple[Floats, Floats], Entry(code, words.kinds).call(words))
    return [x.tolist() for x in made]


def link_nothing(_image: bytes, _functions: Sequence[str]) -> None:
    """What ``link`` returns on other machines."""


def test_both_linkers_give_the_same_code(
    code: MachineCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [x.tolist() for x in powers(*ARGUMENTS)]
    assert result(code) == expected
    monkeypatch.setattr(machine_code, "link", link_nothing)
    assert result(code) == expected


@links_here
def test_addresses_suffice(code: MachineCode) -> None:
    linked = link(code.image, (ENTRY, RELEASE))
    assert linked is not None
    assert len({*linked, *link_by_llvm(code.image, (ENTRY, RELEASE))}) == 4


@links_here
@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (b"\x7fELF", b"MZ\0\0"),  # another format
        (b"\0pow\0", b"\0p0w\0"),  # a function that there is not
    ],
)
def test_what_is_unknown_is_left_to_llvm(code: MachineCode, found: bytes, instead: bytes) -> None:
    assert found in code.image
    assert link(code.image.replace(found, instead), (ENTRY, RELEASE)) is None


@links_here
def test_other_relocations_are_left_to_llvm(code: MachineCode) -> None:
    info = WHOLE_ADDRESS + (3).to_bytes(4, "little")
    assert info in code.image
    assert link(code.image.replace(info, RELATIVE + info[4:]), (ENTRY, RELEASE)) is None
