"""Orderings and memory levels that cannot hold: told with layer and item, never a traceback."""

from pathlib import Path

import pytest

from tests.pipeline.cli.inputs import MAPPING, Ended, Inputs, run, written

# The first layer is B 3, K 8, C 5 and the second B 3, K 6, C 8; K is unrolled twice.
GOOD = """\
- name: first
  spatial_mapping: {D1: ["K, 2"]}
  temporal_ordering: [[C, 5], [B, 3], [K, 4]]
  memory_levels:
    O: {reg: 1, outlet: 1, buffer: 3}
    W: {buffer: 3}
    I: {buffer: 3}
- name: second
  spatial_mapping: {D1: ["K, 2"]}
  temporal_ordering: [[C, 8], [B, 3], [K, 3]]
"""


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


def explored(inputs: Inputs, ordering: str) -> Ended:
    """Exploring with an ordering for all layers."""
    Path(inputs.mapping).write_text(f"{MAPPING}  temporal_ordering: {ordering}\n")
    return run(*inputs.explore, "--no-store")


def replayed(inputs: Inputs, text: str) -> Ended:
    """Evaluating a mapping file."""
    Path("found.yaml").write_text(text)
    files = (inputs.network, "-a", inputs.machine, "--mapping-file", "found.yaml")
    return run("evaluate", *files)


def check_told(ended: Ended, *texts: str) -> None:
    """Whether the command ended with one line that holds the texts, after warnings."""
    assert (ended.code, ended.out) == (2, "")
    *warnings, error = ended.err.splitlines()
    assert all(line.startswith("warning: ") for line in warnings)
    assert error.startswith("error: ")
    for text in texts:
        assert text in error


FIRST = "mapping.yaml:4: temporal_ordering for layer first"
SECOND = "mapping.yaml:4: temporal_ordering for layer second"
ORDERINGS = {
    "[[Q, 2]]": (FIRST, "item 1, [Q, 2]", "a loop dimension of the layer: B, K, C"),
    '["*", [Q, "*"]]': (FIRST, "item 2, [Q, *]", "B, K, C"),
    "[[C, 3]]": (FIRST, "item 1, [C, 3]", "a divisor of 5: C has size 5; --pad makes"),
    "[[K, 8]]": (FIRST, "item 1, [K, 8]", "of 4: K has size 8, is unrolled 2 times"),
    "[[K, 2], [B, 3], [K, 4]]": (FIRST, "item 3, [K, 4]", "the items before it take 2"),
    '[[B, 3], "*", [B, 3]]': (FIRST, "item 3, [B, 3]", "the items before it take 3"),
    "[[C, 5]]": (SECOND, "item 1, [C, 5]", "a divisor of 8"),
    '[[B, "*"], [B, "*"]]': (FIRST, "item 2, [B, *]", "at most 1 such items"),
    '["*", [C, 5], "*"]': ("mapping.yaml:4: [0].temporal_ordering[2]", 'a second "*"'),
    "[[K]]": ("mapping.yaml:4: [0].temporal_ordering[0]", "a list of 1 items"),
}


@pytest.mark.parametrize(("ordering", "told"), ORDERINGS.items(), ids=list(ORDERINGS))
def test_orderings_that_cannot_hold_are_told(
    inputs: Inputs, ordering: str, told: tuple[str, ...]
) -> None:
    check_told(explored(inputs, ordering), *told)


LEVELS = "found.yaml:4: memory_levels for layer first"
MAPPINGS = {
    "another operand": ("I: {buffer: 3}", "X: {buffer: 3}", (LEVELS, "levels of X", "O, W, I")),
    "no operand": ("    I: {buffer: 3}\n", "", (LEVELS, "no levels of I", "O, W, I")),
    "another memory": ("W: {buffer: 3}", "W: {sram: 3}", (LEVELS, "sram for W", "once: buffer")),
    "a memory of others": (
        "W: {buffer: 3}",
        "W: {reg: 1, buffer: 3}",
        (LEVELS, "reg for W", "once: buffer"),
    ),
    "no memory": ("outlet: 1, ", "", (LEVELS, "no outlet for O", "reg, outlet, buffer")),
    "levels that go down": (
        "reg: 1, outlet: 1",
        "reg: 2, outlet: 1",
        (LEVELS, "2 loops of O in reg and 1 in outlet"),
    ),
    "loops above the top": ("W: {buffer: 3}", "W: {buffer: 2}", (LEVELS, "2 loops of W", "all 3")),
    "more loops than items": (
        "W: {buffer: 3}",
        "W: {buffer: 4}",
        ("found.yaml:6: [0].memory_levels.W.buffer", "4", "at most 3"),
    ),
    "levels of no order": (
        "  temporal_ordering: [[C, 5], [B, 3], [K, 4]]\n",
        "",
        ("found.yaml:4: [0].memory_levels.O.reg", "1", "items of temporal_ordering"),
    ),
    "an open order": ("[C, 8], ", "", ("layer second", "leaves loops open", "B 3, K 3, C 8")),
    "no order": (
        "  temporal_ordering: [[C, 8], [B, 3], [K, 3]]\n",
        "",
        ("layer second", "no temporal_ordering", "B 3, K 3, C 8"),
    ),
    "no entry": ("name: second", "name: third", ("layer second", "no temporal_ordering")),
    "another unrolling": ("K, 2", "K, 3", ("found.yaml:2: first: spatial_mapping.D1", "K 3")),
}


@pytest.mark.parametrize(("old", "new", "told"), MAPPINGS.values(), ids=list(MAPPINGS))
def test_mapping_files_that_cannot_be_replayed_are_told(
    inputs: Inputs, old: str, new: str, told: tuple[str, ...]
) -> None:
    assert old in GOOD
    check_told(replayed(inputs, GOOD.replace(old, new, 1)), *told)


def test_a_layer_without_room_is_a_row_beside_the_others(inputs: Inputs) -> None:
    ended = replayed(inputs, GOOD.replace("reg: 1, outlet: 1", "reg: 2, outlet: 2", 1))
    assert (ended.code, ended.err) == (3, "")
    assert "layer first: no loop order fits" in ended.out
    assert "reg too small for O: needs at least 48 bit, has 16" in ended.out
    assert "second" in ended.out


def test_the_mapping_file_is_good_before_the_change(inputs: Inputs) -> None:
    assert replayed(inputs, GOOD).code == 0


OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "nothing given": ([], ["neither --order nor --mapping-file"]),
    "an order for no layer": (["--order", "C 5"], ["--order without --layer"]),
    "an order beside a file": (
        ["--mapping-file", "found.yaml", "--order", "C 5"],
        ["--order cannot be combined with --mapping-file"],
    ),
    "cuts beside a file": (
        ["--mapping-file", "found.yaml", "--cut", "O=1"],
        ["--cut cannot be combined with --mapping-file"],
    ),
    "a mapping beside a file": (
        ["--mapping-file", "found.yaml", "--mapping", "mapping.yaml"],
        ["--mapping cannot be combined with --mapping-file"],
    ),
    "no such file": (["--mapping-file", "nope.yaml"], ["nope.yaml", "no such file"]),
    "no such layer": (
        ["--mapping-file", "found.yaml", "--layer", "firs"],
        ["--layer: found 'firs'; expected first (one of first, second)"],
    ),
    "json over the file": (
        ["--mapping-file", "found.yaml", "--json", "found.yaml"],
        ["--json found.yaml", "a different file"],
    ),
}


@pytest.mark.parametrize(("arguments", "told"), OPTIONS.values(), ids=list(OPTIONS))
def test_options_that_do_not_go_together_are_told(
    inputs: Inputs, arguments: list[str], told: list[str]
) -> None:
    Path("found.yaml").write_text(GOOD)
    check_told(run("evaluate", inputs.network, "-a", inputs.machine, *arguments), *told)
    assert Path("found.yaml").read_text() == GOOD
