"""Valid input that is probably a mistake: a warning with the nearest name, an error if strict."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import nestmap
from nestmap.model import InputError, InputWarning
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    light_names,
    mapping_names,
    multicore_names,
)
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.frontend.read.mapping import read_mapping
from tests.pipeline.cli.inputs import LAYER, Ended, Inputs, run, written

ENTRY = """\
- name: %s
  spatial_mapping: {D1: ["K, 2"]}
"""


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@contextmanager
def recorded() -> Generator[list[str]]:
    """The texts of the warnings within the block."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found += [str(each.message) for each in caught if each.category is InputWarning]


def add(file: str, text: str) -> None:
    with Path(file).open("a", encoding="utf-8") as end:
        end.write(text)


def mistaken(inputs: Inputs, kind: str) -> str:
    """Makes that mistake in the files; the warning about it."""
    match kind:
        case "entry":
            add(inputs.mapping, ENTRY % "frist")
            return (
                f"{inputs.mapping}:4: name 'frist': found neither a layer of the network nor an "
                "operator type; expected first"
            )
        case "ports":
            text = Path(inputs.machine).read_text()
            line = len(text.splitlines()) + 1
            add(inputs.machine, "    ports:" + text.rpartition("    ports:")[2])
            found = "a second ports, which replaces the first"
            return f"{inputs.machine}:{line}: found {found}; expected one"
        case _:
            text = LAYER % (2, "third", "3, 6, 6", 1, 2)
            line = len(Path(inputs.network).read_text().splitlines()) + 3
            add(inputs.network, text.replace("Gemm", "gem"))
            where = f"{inputs.network}:{line}: [2].operator_type"
            return f"{where}: found the unknown operator type 'gem'; expected Gemm"


def explored(inputs: Inputs, *options: str) -> Ended:
    return run(*inputs.explore, "--no-store", *options)


@pytest.mark.parametrize("kind", ["entry", "ports", "operator"])
def test_a_mistake_is_one_line_and_an_error_if_strict(inputs: Inputs, kind: str) -> None:
    assert "warning" not in explored(inputs, "--strict").err
    told = mistaken(inputs, kind)
    ended = explored(inputs)
    (line,) = [line for line in ended.err.splitlines() if line.startswith("warning")]
    assert line.startswith(f"warning: {told}")
    assert ended.code == 0
    strict = explored(inputs, "--strict")
    assert (strict.code, strict.out) == (2, "")
    assert strict.err.startswith(f"error: {told}")
    assert strict.err.count("\n") == 1


def test_other_commands_that_read_these_files_warn_too(inputs: Inputs) -> None:
    mistaken(inputs, "operator")
    cores = ("-c", "quad_tpu")
    commands = (
        ("show", inputs.network),
        (*inputs.evaluate, "--order", "C 5, B 3, K 4"),
        ("split", inputs.network, *cores),
        ("stream", inputs.network, *cores, "--no-store", "--generations", "1"),
    )
    for command in commands:
        ended = run(*command)
        assert ended.code == 0, ended.err
        assert ended.err.count("warning: ") == 1, ended.err
        assert run(*command, "--strict").code == 2


def test_repricing_warns_of_the_accelerator(inputs: Inputs) -> None:
    store = ("--store", str(inputs.folder / "runs.duckdb"))
    assert run(*inputs.explore, *store).code == 0
    mistaken(inputs, "ports")
    command = ("reprice", "last", "-a", inputs.machine, *store)
    assert "warning: " in run(*command).err
    assert run(*command, "--strict").code == 2


def test_python_warns_and_filters_make_errors(inputs: Inputs) -> None:
    told = mistaken(inputs, "entry")
    files = Path(inputs.network), Path(inputs.machine), Path(inputs.mapping)
    with recorded() as found:
        nestmap.explore(*files, search="loma")
    assert found == [told]
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        with pytest.raises(InputWarning, match="name 'frist'"):
            nestmap.explore(*files, search="loma")


def test_an_entry_for_an_operator_that_the_network_lacks_is_none(inputs: Inputs) -> None:
    add(inputs.mapping, ENTRY % "Pooling")
    assert "warning" not in explored(inputs).err


def test_keys_that_replace_merged_ones_are_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text("- &all\n  name: default\n- {<<: *all, name: Conv}\n")
    with recorded() as found:
        read_mapping(file, for_accelerator=None)
    assert found == []


def test_bundled_files_warn_of_nothing() -> None:
    with recorded() as found:
        machines = [read_accelerator(name) for name in accelerator_names()]
        for name in mapping_names():
            read_mapping(name, for_accelerator=None)
        for name in multicore_names():
            read_multicore(name)
        for machine in machines:
            read_network(light_names()[0], machine, machine.name)
    assert found == []


def test_an_unknown_target_on_several_cores_is_an_error_with_the_nearest_name(
    inputs: Inputs,
) -> None:
    Path(inputs.mapping).write_text("- {name: frist, core_allocation: [0]}\n")
    with pytest.raises(InputError, match="expected first "):
        nestmap.stream(Path(inputs.network), "quad_tpu", Path(inputs.mapping))
