"""``nestmap examples``: everything bundled has a line, and the command it ends with works."""

import shlex
from pathlib import Path

import pytest

from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    mapping_names,
    multicore_names,
    workload_names,
)
from tests.pipeline.cli.inputs import run


def test_everything_bundled_has_a_line() -> None:
    ended = run("examples")
    assert ended.code == 0
    first_words = [line.split()[0] for line in ended.out.splitlines() if line]
    bundled = (accelerator_names(), multicore_names(), mapping_names(), workload_names())
    for names in bundled:
        assert set(names) <= set(first_words)


def test_machines_are_described() -> None:
    (line,) = (x for x in run("examples").out.splitlines() if "1,024 MACs (D1 32 x D2 32)" in x)
    assert "rf_128B (128 B), rf_2B (2 B), sram_2MB (2 MiB), dram" in line


def test_machines_of_several_cores_are_described() -> None:
    lines = [x.split(maxsplit=1) for x in run("examples").out.splitlines() if " x offchip" in x]
    described = {name: text for name, text in lines}
    assert described["quad_tpu"] == (
        "4 x tpu_like, 1 x pooling, 1 x simd, 1 x offchip; 24 links, 1 bus"
    )


def test_the_suggested_command_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    *_, last = run("examples").out.splitlines()
    program, *arguments = shlex.split(last)
    assert program == "nestmap"
    assert run(*arguments, "--lpf-limit", "2", "--no-store").code == 0
