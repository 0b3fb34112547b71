"""Spatial hints that cannot hold: told with file and field, never a traceback."""

from pathlib import Path

import pytest

from tests.pipeline.cli.inputs import Ended, Inputs, run, written


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


def explored(inputs: Inputs, hints: str) -> Ended:
    """Exploring with these hints for all layers."""
    Path(inputs.mapping).write_text(f"- name: default\n  spatial_mapping_hint: {hints}\n")
    return run(*inputs.explore, "--no-store")


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        ("{D1: [QX]}", "spatial_mapping_hint.D1: found loop dimension QX; expected a dimension of"),
        ("{D1: []}", "found an empty list; expected at least one loop dimension, or no hint"),
        ("{D1: K, 2}", "expected"),
    ],
)
def test_bad_hints_are_told(inputs: Inputs, hints: str, told: str) -> None:
    ended = explored(inputs, hints)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert told in ended.err


def test_hints_over_a_dimension_that_the_array_lacks_are_a_warning(inputs: Inputs) -> None:
    without = explored(inputs, "{D1: [K]}")
    ended = explored(inputs, "{D1: [K], D9: [C]}")
    assert ended.code == 0
    assert ended.out == without.out
    told = "spatial_mapping_hint.D9: found array dimension D9, which has no effect; expected one of"
    assert f"warning: {inputs.mapping}:2: default: {told} D1, the array of tiny\n" in ended.err
    assert "warning" not in without.err


def test_hints_of_which_a_layer_has_none_leave_it_free(inputs: Inputs) -> None:
    assert explored(inputs, "{D1: [K]}").code == 0
