"""Everything wrong with a space is told before anything is explored, with its line."""

from pathlib import Path

import pytest

from nestmap.model import InputError
from nestmap.model.design_space.space import Design, DesignSpace
from nestmap.pipeline.frontend.yaml.design_space import parse_design_space
from nestmap.pipeline.sweep.choice.choice import (
    MOST_DESIGNS,
    ChosenDesigns,
    choose_designs,
    shuffled,
)
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.checked_space import CheckedSpace, check_space
from tests.pipeline.sweep.spaces import SPACE, write_space


@pytest.fixture
def checked(tmp_path: Path) -> CheckedSpace:
    """The small space."""
    return check_space(write_space(tmp_path))


def chosen(file: Path, strategy: Strategy = Strategy.GRID, count: int | None = None) -> list[int]:
    """The numbers of the designs that would be explored."""
    choice = choose_designs(check_space(file), strategy, count, 0)
    assert isinstance(choice, ChosenDesigns)
    return [x.number for x in choice.designs]


WRONG = [
    ("  outlet: has_outlet", "  outlat: has_outlet", 12, "outlet (one of reg, outlet, buffer)"),
    ("memories.outlet.size", "memories.outlet.sise", 10, "found the unknown field 'sise'"),
    ("sizes[0]: lanes", "sizes[0]: lane", 9, "the unknown name lane; expected lanes"),
    ("sizes[0]: lanes", "sizes[0]: words / 3", 9, "words / 3, which is 0.6666666666666666"),
    (
        "sizes[0]: lanes",
        "sizes[0]: \"'two'\"",
        9,
        "'two', which is 'two' (design 0); expected a number",
    ),
    ("sizes[0]: lanes", "sizes[0]: has_outlet", 9, "expected a number, as 2 in the base"),
    ("sizes[0]: lanes", "sizes[0]: lanes +", 9, "found 'lanes +'; expected an expression"),
    ("sizes[0]: lanes", "sizes[0]: 8 // (lanes - 2)", 9, "a division by zero with lanes=2"),
    (
        "  outlet: has_outlet",
        "  outlet: words",
        12,
        "words, which is 2 (design 0); expected a condition",
    ),
    ("bits: words * 8", "bits: bits * 8", 6, "a cycle: bits -> bits"),
    ("factor: 2", "factor: 1", 5, "expected greater than 1"),
    ("factor: 2", "faktor: 2", 5, "the unknown field 'faktor'; expected factor"),
    (", factor: 2", "", 5, "a range without step or factor"),
    ("to: 8, factor: 2", "to: 1, factor: 2", 5, "the empty range from 2 to 1"),
    ("lanes: [1, 2, 4]", "lanes: []", 4, "no value; expected at least one"),
    ("lanes: [1, 2, 4]", "lanes: [1, 2, 1]", 4, "a second 1"),
    ("lanes: [1, 2, 4]", "lanes: [1, 2020-01-01]", 4, "expected a number, a text, true or false"),
    ("lanes: [1, 2, 4]", "max: [1, 2, 4]", 4, "the name 'max'"),
    ("weight: 2.5", "weight: 0", 15, "expected greater than 0"),
    ("weight: 2.5", "wait: 2.5", 15, "expected weight"),
    ("weight: 2.5", "dims: {batch: 2}", 15, "--dim batch cannot be combined"),
    ("weight: 2.5", "densities: {I: 2}", 15, "expected a share of elements, above 0"),
    ("weight: 2.5", "densities: {X: 0.5}", 15, "density of X: found no such operand"),
    ("- net.yaml", "- nat.yaml", 14, "nat.yaml: found no such file"),
    ("- net.yaml", "- resnet", 14, "networks[0]: workload: found 'resnet'"),
    ("tiny.yaml", "tiny_like", 2, "accelerator: found 'tiny_like'"),
    ("objectives: [energy, latency]", "objectives: [energy, speed]", 16, "the unknown name speed"),
    ("objectives: [energy, latency]", "objectives: [area, area]", 16, "found a second area"),
    ("name: small", "name: small\nmapping: fre", 2, "expected a file or free"),
    ("when:", "constraints: [lanes > 4]\nwhen:", 11, "lanes > 4, which none of 18 designs meets"),
    ("when:", "constraints: [lanes]\nwhen:", 11, "lanes, which is 1; expected a condition"),
    ("when:", "constraints: [1 < lanes, units > 9]\nwhen:", 11, "which none of 12 designs that"),
    ("when:", "constraints: [memories.sram.size > 1]\nwhen:", 11, "the unknown memory 'sram'"),
    ("memories.outlet.size", "operational_array.sizes[00]", 10, "[00] of a list of 1"),
]


@pytest.mark.parametrize(("old", "new", "line", "told"), WRONG)
def test_what_is_wrong_is_told_with_its_line(
    old: str, new: str, line: int, told: str, tmp_path: Path
) -> None:
    assert SPACE.count(old) == 1
    file = write_space(tmp_path, SPACE.replace(old, new))
    with pytest.raises(InputError) as error:
        chosen(file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert told in str(error.value)


def test_two_spellings_of_a_field_are_one_field(tmp_path: Path) -> None:
    space = parse_design_space(write_space(tmp_path))
    twice = dict(space) | {"settings": (space.settings[0], space.settings[0])}
    with pytest.raises(ValueError, match="a second operational_array"):
        DesignSpace.model_validate(twice)


def test_models_are_checked_without_lines(tmp_path: Path) -> None:
    file = write_space(tmp_path, SPACE.replace("outlet.size", "outlet.sise"))
    with pytest.raises(InputError, match=r"^design space small: set\.memories\.outlet\.sise:"):
        check_space(parse_design_space(file))


def test_a_design_is_the_base_with_its_fields_set(checked: CheckedSpace) -> None:
    design = checked.settings.design(5)
    assert str(design) == "lanes=1, words=8, bits=64, has_outlet=False"
    made = checked.accelerator(checked.settings.design(4))
    assert [x.name for x in made.memories] == ["reg", "outlet", "buffer"]
    assert [(x.instance.size) for x in made.memories] == [16, 64, 1_000_000]
    assert made.array.sizes == {"D1": 1}
    assert [x.name for x in checked.accelerator(design).memories] == ["reg", "buffer"]


def test_a_description_that_is_refused_names_the_parameters(tmp_path: Path) -> None:
    text = SPACE.replace("outlet.size: bits", "outlet.ports[0].bandwidth_max: words")
    checked = check_space(write_space(tmp_path, text))
    with pytest.raises(
        InputError, match=r"^lanes=1, words=2, bits=16, has_outlet=True: accel"
    ) as e:
        checked.accelerator(checked.settings.design(0))
    assert "memories.outlet.ports[0]" in e.value.where


def test_a_field_that_is_null_is_left_out(tmp_path: Path) -> None:
    text = SPACE.replace("set:\n", "set:\n  memories.reg.latency: null\n")
    checked = check_space(write_space(tmp_path, text))
    assert checked.accelerator(checked.settings.design(0)).memories[0].instance.size == 16


def test_quantities_are_those_of_the_accelerator(checked: CheckedSpace) -> None:
    full, reduced = (checked.settings.design(n) for n in (16, 17))
    known = checked.quantities(full)
    assert known["units"] == 4
    assert known["area"] == 4.0
    assert known["memories.reg.size"] == 16
    assert known["memories.reg.instances"] == 4
    assert known["memories.reg.total"] == 64
    assert known["memories.outlet.area"] == 0.0
    assert known["memories.reg.bandwidth"] == 4 * (16 + 16)  # a read and a write port in each
    missing = checked.quantities(reduced)
    assert missing.keys() == known.keys()
    assert missing["memories.outlet.size"] == missing["memories.outlet.instances"] == 0
    assert missing["memories.outlet.bandwidth"] == 0


def fits(design: Design) -> bool:
    """The constraints of the next test."""
    lanes, bits = (int(str(design.values[name])) for name in ("lanes", "bits"))
    return lanes > 1 and (not design.values["has_outlet"] or bits <= 4 * lanes**3)


def test_designs_that_do_not_meet_the_constraints_are_left_out(tmp_path: Path) -> None:
    lines = "constraints: [memories.outlet.total <= 4 * lanes ** 3, 'lanes > 1']\nwhen:"
    checked = check_space(write_space(tmp_path, SPACE.replace("when:", lines)))
    found = choose_designs(checked, Strategy.GRID, None, 0)
    designs = (checked.settings.design(n) for n in range(18))
    kept = [x.number for x in designs if fits(x)]
    assert isinstance(found, ChosenDesigns)
    assert [x.number for x in found.designs] == kept
    assert found.rejected == 18 - len(kept)


def test_a_grid_is_not_absurd(tmp_path: Path) -> None:
    long = "{from: 1, to: 10000, step: 1}"
    text = SPACE.replace("[1, 2, 4]", long).replace("  bits:", f"  x: {long}\n  y: {long}\n  bits:")
    file = write_space(tmp_path, text)
    with pytest.raises(InputError) as error:
        chosen(file)
    assert str(error.value) == (
        f"{file}:3: parameters: found a grid of 6,000,000,000,000 designs; expected at most "
        f"{MOST_DESIGNS:,}, or the strategy random with a number of designs"
    )
    some = chosen(file, Strategy.RANDOM, 5)
    assert len(set(some)) == 5
    assert some == chosen(file, Strategy.RANDOM, 5)


def test_a_random_choice_ends_with_the_last_design(tmp_path: Path) -> None:
    file = write_space(tmp_path)
    every = chosen(file, Strategy.RANDOM, 1000)
    assert sorted(every) == list(range(18))
    assert every != sorted(every)
    assert chosen(file, Strategy.RANDOM, 7) == every[:7]


def test_numbers_are_for_random_choices(tmp_path: Path) -> None:
    file = write_space(tmp_path)
    with pytest.raises(InputError, match="designs cannot be combined with the strategy grid"):
        chosen(file, Strategy.GRID, 3)
    with pytest.raises(InputError, match="found no number of designs"):
        chosen(file, Strategy.RANDOM)


def test_shuffling_gives_each_number_once() -> None:
    for size in (1, 2, 7, 100):
        assert sorted(shuffled(size, 3)) == list(range(size))
    assert list(shuffled(100, 1)) != list(shuffled(100, 2))
