"""Packages that stand in for hwcomponents-cacti: its files, with the real CACTI or a script."""

import platform
import sys
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

HAS_CACTI: Final = sys.platform == "linux" and platform.machine() == "x86_64"
"""Whether the CACTI of zigzag-dse runs here."""

ANSWER: Final = """\
#!/bin/sh
echo run >> "$(dirname "$0")/runs"
printf 'Dynamic read energy (nJ), Dynamic write energy (nJ), Area (mm2), ' > "$2.out"
printf 'Standby leakage per bank(mW), \\n0.001, 0.002, 0.5, 3, \\n' >> "$2.out"
"""
"""A program that always says the same, and notes that it was asked."""

FAILURE: Final = '#!/bin/sh\necho "the question" \necho "ERROR: no such memory" \nexit 1\n'
"""A program that says it can build no such memory, as CACTI does."""

TOO_NEW: Final = (
    '#!/bin/sh\necho "$0: /lib/libc.so.6: version \\`GLIBC_2.38\' not found" >&2\nexit 1\n'
)
"""A program that does not get as far as to run, as the one of the package on an old Linux."""


def real_cacti() -> Path:
    """The folder with CACTI and its technologies inside zigzag-dse, which is not imported."""
    spec = find_spec("zigzag")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "cacti" / "cacti_master"


def cacti_package(folder: Path, program: str | Path, version: str = "1.0.40") -> Path:
    """A folder with the package in it; ``program`` is a script, or a folder with CACTI."""
    place = folder / f"site-{version}"
    package = place / "hwcomponents_cacti"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('nobody imports it')\n")
    information = place / f"hwcomponents_cacti-{version}.dist-info"
    information.mkdir()
    named = f"Metadata-Version: 2.1\nName: hwcomponents-cacti\nVersion: {version}\n"
    (information / "METADATA").write_text(named)
    if isinstance(program, Path):
        (package / "cacti").symlink_to(program)
    else:
        (package / "cacti").mkdir()
        (package / "cacti" / "cacti").write_text(program)
        (package / "cacti" / "cacti").chmod(0o755)
    return place


def install_cacti(
    monkeypatch: pytest.MonkeyPatch, folder: Path, program: str | Path, version: str = "1.0.40"
) -> Path:
    """Makes such a package and puts it first in the path of this test."""
    place = cacti_package(folder, program, version)
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    invalidate_caches()
    return place


def times_run(place: Path) -> int:
    """How often the program of a package with ``ANSWER`` has run."""
    notes = place / "hwcomponents_cacti" / "cacti" / "runs"
    return len(notes.read_text().splitlines()) if notes.exists() else 0
