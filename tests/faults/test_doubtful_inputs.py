"""What probably is a mistake and changes results in silence is said, or refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError

import nestmap
from nestmap.model import InputError
from nestmap.model.design_space.expression import Expression
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.frontend.yaml.design_space import parse_design_space
from nestmap.pipeline.sweep.choice import choice
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.checked_space import check_space, located_space
from tests.faults.test_input_warnings import recorded
from tests.pipeline.cli.inputs import MACHINE, NETWORK, run, written
from tests.pipeline.sweep.spaces import SPACE, write_space


def file(folder: Path, text: str, old: str, new: str) -> Path:
    """A file with this text, in which one part is another."""
    assert old in text
    path = folder / "changed.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


def test_two_ports_of_one_name_are_refused(tmp_path: Path) -> None:
    machine = file(tmp_path, MACHINE, "name: w,", "name: r,")
    with pytest.raises(InputError, match=r":14: .*ports\[1\].name: found a second r; expected"):
        read_accelerator(str(machine))


def test_an_unknown_type_of_a_memory_is_said(tmp_path: Path) -> None:
    machine = file(tmp_path, MACHINE, "size: 1000000", "size: 1000000\n    mem_type: ssram")
    with recorded() as said:
        read_accelerator(str(machine))
    (text,) = said
    assert text.endswith("found the unknown type 'ssram'; expected one of sram, rf, dram")


def test_sums_that_are_narrower_than_a_factor_are_said(tmp_path: Path) -> None:
    network = file(tmp_path, NETWORK, "O: 16, O_final: 8", "O: 6, O_final: 6")
    with recorded() as said:
        read_workload(str(network))
    assert (
        f"{network}:7: [0].operand_precision.O: found partial sums of 6 bits, narrower" in said[0]
    )


def test_products_under_an_operator_without_any_are_said(tmp_path: Path) -> None:
    network = file(tmp_path, NETWORK, "operator_type: Gemm", "operator_type: Softmax")
    with recorded() as said:
        read_workload(str(network))
    (text,) = said
    assert text.startswith(
        f"{network}:3: [0].operator_type: found Softmax, which multiplies nothing"
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  lanes: [1, 2, 4]", "  lanes: [1, 2, 4]\n  idle: [1, 2]", "idle, which nothing uses"),
        ("outlet: has_outlet", "outlet: has_outlet and bits < words", "none has outlet"),
    ],
)
def test_parts_of_a_space_without_effect_are_said(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = write_space(tmp_path, SPACE.replace(old, new))
    with recorded() as said:
        located_space(path).warn_of_unused_parts()
    (text,) = said
    assert words in text
    assert text.startswith(f"{path}:")


def test_conditions_that_some_design_meets_are_not(tmp_path: Path) -> None:
    for condition in ("bits == 64 and lanes > 2", "1 // (lanes - 1) > 5", "1 < 2"):
        with recorded() as said:
            found = SPACE.replace("outlet: has_outlet", f"outlet: has_outlet and {condition}")
            located_space(write_space(tmp_path, found)).warn_of_unused_parts()
        assert said == []


def test_no_sweep_is_called_what_the_last_one_is(tmp_path: Path) -> None:
    path = write_space(tmp_path, SPACE.replace("name: small", "name: last"))
    with pytest.raises(InputError, match=r":1: name: found last; expected another name"):
        parse_design_space(path)


def test_texts_that_no_file_could_have_are_refused() -> None:
    with pytest.raises(ValidationError, match="half of a pair of surrogates"):
        Expression(text=r"'\udc80'")
    assert Expression(text=r"'\U0001f600'").value({}) == "\U0001f600"


def test_a_random_choice_without_any_design_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MOST_TRIES", 5)
    values = ", ".join(map(str, range(1, 400)))
    text = SPACE.replace("[1, 2, 4]", f"[{values}]") + "constraints: [lanes > 1000]\n"
    checked = check_space(write_space(tmp_path, text))
    with pytest.raises(InputError, match="which none of 50 designs meets"):
        choice.choose_designs(checked, Strategy.RANDOM, 1000, 1)


def test_a_random_choice_goes_on_as_long_as_it_finds_designs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MOST_TRIES", 1)
    text = SPACE + "constraints: [lanes > 1]\n"
    whole = nestmap.sweep(write_space(tmp_path, text), objective="energy").points
    found = nestmap.sweep(
        write_space(tmp_path, text), strategy="random", designs=30, objective="energy"
    )
    assert {x.number for x in found.points} == {x.number for x in whole}


def test_a_file_that_is_written_first_is_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inputs = written(tmp_path)
    mine = tmp_path / "x.json.part"
    mine.write_text("mine")
    ended = run(*inputs.explore, "--no-store", "--json", "x.json")
    assert ended.code == 2
    assert "x.json.part, which would be overwritten" in " ".join(ended.err.split())
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "exact", "seed": 1}, "seed cannot .* search exact; .* with search salsa"),
        ({"seed": 1}, "seed cannot .* search exact"),
        ({"search": "loma", "seed": 1}, "seed cannot .* search loma"),
        ({"search": "exact", "lpf_limit": 4}, "lpf_limit cannot .* with search loma"),
        ({"search": "loma", "time_limit": 1.0}, "time_limit cannot .* with search exact"),
        ({"search": "salsa", "gap": 1.0}, "gap cannot .* with search exact"),
    ],
)
def test_options_without_effect_are_refused(options: SearchOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SearchPlan.of(options)


def test_options_with_effect_are_not() -> None:
    assert SearchPlan.of({"search": "salsa", "seed": 7}).search.known_seed == 7
    assert SearchPlan.of({"lpf_limit": None}).search.name == "loma"
    assert SearchPlan.of({"search": "exact", "lpf_limit": None}).search.name == "exact"


@pytest.mark.parametrize("command", ["explore", "stream"])
def test_a_run_is_recorded_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    on = {"explore": ("-a", "tpu_like"), "stream": ("-c", "quad_tpu")}[command]
    places = ("--store", "s.duckdb", "--no-store")
    ended = run(command, "light:squeezenet", *on, *places)
    assert ended.code == 2
    assert "--store cannot be combined with --no-store" in " ".join(ended.err.split())
