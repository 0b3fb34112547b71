"""Threads of explorations share the pools of the C library."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

POOLS = """
import ctypes, sys, threading
from nestmap.pipeline.cli.memory_pools import share_memory_pools
{setup}
together = threading.Barrier(8)
def allocate():
    together.wait()
    kept.append(bytearray(5000))
    together.wait()
kept = []
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


def pools(setup: str, folder: Path) -> int:
    """The pools of a process with eight threads."""
    report = folder / "pools.xml"
    program = POOLS.replace("{setup}", setup)
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", program, str(report)]
    subprocess.run(words, check=True, env=os.environ | paths)
    return report.read_text().count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="has no such pools")
def test_two_processors_share_a_pool(tmp_path: Path) -> None:
    cores = os.cpu_count() or 1
    assert pools("share_memory_pools()", tmp_path) <= max(cores // 2, 1)
    assert pools("", tmp_path) > 1
