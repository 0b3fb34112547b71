"""Before a large exploration, the command says how large it is, and asks."""

import os
import pty
import subprocess
from pathlib import Path
from typing import Final

import pytest

from nestmap.model import InputError, Recording, RecordMode
from nestmap.pipeline.cli import explore
from nestmap.pipeline.cli.explore import LARGEST_RECORD, MOST_MAPPINGS, check_size
from nestmap.pipeline.explore.size import ROW_BYTES, ExplorationSize, LayerSize
from tests.pipeline.cli.inputs import Inputs, program, run

LARGE: Final = ExplorationSize((LayerSize("a", (MOST_MAPPINGS, 1)), LayerSize("b", (5,))))
MOST: Final = ExplorationSize((LayerSize("a", (MOST_MAPPINGS,)),))
ROWS: Final = ExplorationSize((LayerSize("a", (LARGEST_RECORD // ROW_BYTES + 1,)),))
EXACT: Final = ExplorationSize((LayerSize("a", None),))
UNLIMITED: Final = Recording(limit=None)
"""The tests run without a terminal, so nobody can be asked."""


@pytest.mark.parametrize(
    ("size", "recording"),
    [
        (MOST, None),
        (MOST, Recording()),
        (MOST, Recording(record=RecordMode.BEST, limit=None)),
        (ROWS, None),
        (ROWS, Recording()),
        (EXACT, UNLIMITED),
    ],
)
def test_usual_explorations_start_without_a_word(
    size: ExplorationSize, recording: Recording | None, capsys: pytest.CaptureFixture[str]
) -> None:
    check_size(size, recording, agreed=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("size", "recording", "found"),
    [
        (LARGE, None, "found up to 100,000,006 mappings to evaluate; expected --yes to start it"),
        (LARGE, Recording(), "100,000,006 mappings to evaluate and 0.0 GB to record; expected"),
        (MOST, UNLIMITED, "100,000,000 mappings to evaluate and 2.5 GB to record; expected"),
        (ROWS, UNLIMITED, "40,000,001 mappings to evaluate and 1.0 GB to record; expected"),
    ],
)
def test_large_ones_need_yes_where_nobody_can_be_asked(
    size: ExplorationSize,
    recording: Recording | None,
    found: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(InputError, match="exploration: found up to ") as raised:
        check_size(size, recording, agreed=False)
    assert found in str(raised.value)
    assert capsys.readouterr().err == ""
    check_size(size, recording, agreed=True)
    assert "This exploration has up to " in capsys.readouterr().err


LOWER: Final = "from nestmap.pipeline.cli import explore; explore.MOST_MAPPINGS = 3"


def test_nothing_is_recorded_before_the_answer(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "MOST_MAPPINGS", 13)
    ended = run(*inputs.explore)
    assert ended.code == 2
    assert ended.err == (
        "error: exploration: found up to 32 mappings to evaluate and 0.0 GB to record; expected "
        "--yes to start it, or at most 13 mappings and 1 GB (--lpf-limit, --spatial-mappings, "
        "--record-limit)\n"
    )
    assert not Path("nestmap.duckdb").exists()
    agreed = run(*inputs.explore, "--yes")
    assert agreed.code == 0
    assert agreed.err.startswith(
        "This exploration has up to 32 mappings to evaluate and 0.0 GB to record: "
        "2 spatial mappings of 2 different layers.\n"
    )


def test_tensors_on_chip_take_at_least_what_they_take_outside(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "MOST_MAPPINGS", 13)
    for options in ((), ("--no-store",)):
        ended = run(*inputs.explore, "--keep-on-chip", *options)
        assert ended.code == 2
        assert "found at least 32 mappings to evaluate" in ended.err


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 130), ("\n", 130), ("\x04", 130)])
def test_on_a_terminal_the_user_is_asked(inputs: Inputs, typed: str, code: int) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*program(LOWER), *inputs.explore],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        os.write(ours, typed.encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code
    assert "2 spatial mappings of 2 different layers.\nStart it? [y/N]:" in err
    assert Path("nestmap.duckdb").exists() == (code == 0)
    assert bool(out.strip()) == (code == 0)
    assert err.endswith("interrupted\n") == (code != 0)
