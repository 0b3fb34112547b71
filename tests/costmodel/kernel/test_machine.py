"""What LLVM says of this machine is cached by the kind of its processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llvmlite import binding

from nestmap.costmodel.kernel import machine
from nestmap.costmodel.kernel.machine import Machine, this_machine

OTHER = Machine("pdp11-unknown-unix", "generic", "+eis,-fis")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty cache, and a processor that is known."""
    (tmp_path / "processor").write_text("cpu:type:pdp11")
    monkeypatch.setattr(machine, "_PROCESSOR", tmp_path / "processor")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "caches"))
    this_machine.cache_clear()
    yield
    this_machine.cache_clear()


def asked_again() -> Machine:
    this_machine.cache_clear()
    return this_machine()


def test_it_is_what_llvm_says() -> None:
    found = this_machine()
    assert found.triple == binding.get_process_triple()
    assert found.processor == binding.get_host_cpu_name()
    for name, has in binding.get_host_cpu_features().items():
        assert found.has(name) is has


def test_llvm_is_asked_once_for_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = this_machine()
    monkeypatch.setattr(machine, "_described_by_llvm", lambda: OTHER)
    assert asked_again() == found
    (tmp_path / "processor").write_text("cpu:type:vax")
    assert asked_again() == OTHER


@pytest.mark.parametrize("content", ["", "[1", "[]", '["a"]', "3"])
def test_llvm_is_asked_again_where_the_file_broke_off(tmp_path: Path, content: str) -> None:
    found = this_machine()
    (file,) = tmp_path.rglob("machine.json")
    file.write_text(content)
    assert asked_again() == found
    assert asked_again() == found


@pytest.mark.parametrize("unknown", ["processor", "caches"])
def test_without_a_cache_llvm_is_asked_and_nothing_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    unknown: str,
) -> None:
    if unknown == "processor":
        (tmp_path / "processor").unlink()
    else:
        monkeypatch.setenv("NUMBA_CACHE_DIR", "/dev/null/caches")
    assert this_machine().triple == binding.get_process_triple()
    assert not list(tmp_path.rglob("machine.json"))
    assert capsys.readouterr() == ("", "")
