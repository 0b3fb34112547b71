"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

from tests.pipeline.cli.inputs import Inputs, written


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder, so that nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)
