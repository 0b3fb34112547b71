"""Located YAML: files and values that are not what they must be are named with their line."""

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, InputWarning, Loop
from nestmap.pipeline.frontend.yaml import load as source
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Section
from nestmap.pipeline.frontend.yaml.load import DEEPEST, MOST_VALUES, parse_yaml, read_yaml
from nestmap.pipeline.frontend.yaml.located_node import LARGEST, Node

SAMPLE = """\
# a comment
title: sample
sizes:
  first: 12
  ratio: 0.5
items: [a, b]
flag: yes
nothing:
"""


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


def value(text: str) -> Node:
    """The value of ``x: text``."""
    return parse_yaml(f"x: {text}\n", "f.yaml").entries()["x"]


def section(required: str, optional: str = "") -> Section:
    """One with such fields, the names separated by blanks."""
    return Section(
        title="Section",
        at=(),
        meaning="",
        fields=(
            *(Field(name, "", "", "") for name in required.split()),
            *(Field(name, "", "", "", Need.OPTIONAL) for name in optional.split()),
        ),
    )


def refusal(run: Callable[[], object]) -> InputError:
    """The error that the call raises."""
    with pytest.raises(InputError) as raised:
        run()
    return raised.value


def test_values_know_where_they_stand() -> None:
    fields = parse_yaml(SAMPLE, "s.yaml").entries()
    assert fields["title"].where == "s.yaml:2: title"
    assert fields["sizes"].where == "s.yaml:3: sizes"
    assert fields["sizes"].entries()["ratio"].where == "s.yaml:5: sizes.ratio"
    assert fields["items"].sequence()[1].where == "s.yaml:6: items[1]"
    assert fields["nothing"].where == "s.yaml:8: nothing"
    assert fields["nothing"].is_null
    assert not fields["flag"].is_null


def test_values_are_read_by_type() -> None:
    fields = parse_yaml(SAMPLE, "s.yaml").entries()
    sizes = fields["sizes"].entries()
    assert fields["title"].text() == "sample"
    assert sizes["first"].integer(minimum=12, maximum=12) == 12
    assert (sizes["first"].content, sizes["ratio"].content) == (12, 0.5)
    assert [item.name() for item in fields["items"].sequence()] == ["a", "b"]
    assert fields["flag"].boolean()


@pytest.mark.parametrize("text", ["True", "true", "yes", "On"])
def test_truth_values_of_yaml_1_1(text: str) -> None:
    assert value(text).boolean()


@pytest.mark.parametrize("text", ["False", "no", "OFF"])
def test_untruth_values_of_yaml_1_1(text: str) -> None:
    assert not value(text).boolean()


@pytest.mark.parametrize(
    ("text", "number"), [("0x10", 16), ("0", 0), ("0b11", 3), ("1_000", 1000), ("-3", -3)]
)
def test_whole_numbers_of_yaml_1_1(text: str, number: int) -> None:
    assert value(text).integer() == number == yaml.safe_load(text)


@pytest.mark.parametrize("text", ["010", "-010", "0_7", "00", "1:30", "-1:30"])
def test_whole_numbers_that_people_read_otherwise(text: str) -> None:
    assert (
        refusal(value(text).integer).found == f"{text}, which YAML reads as {yaml.safe_load(text)}"
    )


@pytest.mark.parametrize("text", ["1:30.5", "1:30:00"])
def test_numbers_of_base_60_are_no_numbers(text: str) -> None:
    assert (
        refusal(value(text).number_or_none).found
        == f"{text}, which YAML reads as {yaml.safe_load(text)}"
    )


@pytest.mark.parametrize("text", ["1.5", "1.0", "'1'", "true", "[1]", "{}", "", "!!int x", "1e3"])
def test_what_is_no_whole_number(text: str) -> None:
    assert refusal(value(text).integer).where == "f.yaml:1: x"


def test_numbers_out_of_bounds() -> None:
    assert refusal(lambda: value("0").integer("at least one", minimum=1)).expected == "at least one"
    too_large = refusal(lambda: value("9").integer("a small one", maximum=8))
    assert (too_large.found, too_large.expected) == ("9", "a small one, at most 8")
    assert str(LARGEST) in refusal(value("1" + "0" * 30).integer).expected
    assert refusal(value("9" * 5000).integer).found.endswith("...")


@pytest.mark.parametrize("text", ["5", "no", "''", "'  '", "[a]", "2020-01-01", ""])
def test_what_is_no_text(text: str) -> None:
    assert refusal(value(text).text).expected == "a text"


def test_a_word_that_yaml_does_not_read_as_text_is_explained() -> None:
    assert refusal(value("NO").text).found == "NO (which YAML reads as a bool)"


@pytest.mark.parametrize("text", ["1D", "a b", "é", "x" * 33, '"a\\n"'])
def test_what_is_no_name(text: str) -> None:
    assert "letters, digits or _" in refusal(value(text).name).expected


def test_closed_sets_suggest_the_nearest() -> None:
    assert value("green").choice(Colour) is Colour.GREEN
    assert refusal(lambda: value("gren").choice(Colour)).expected == "green (one of red, green)"
    assert refusal(lambda: value("blue").choice(Colour)).expected == "one of red, green"
    assert refusal(lambda: value("1").choice(Colour)).expected == "one of red, green"


def test_equal_keys_are_an_error() -> None:
    found = refusal(lambda: parse_yaml("a: 1\nb: 2\na: 3\n", "f.yaml"))
    assert (found.where, found.found) == ("f.yaml:3", "a second a")


def test_the_last_of_equal_lists_of_ports_counts() -> None:
    with pytest.warns(
        InputWarning, match=r"^f\.yaml:3: found a second ports, which replaces the first"
    ):
        entries = parse_yaml("ports: 1\nb: 2\nports: 3\n", "f.yaml").entries()
    assert {name: node.integer() for name, node in entries.items()} == {"ports": 3, "b": 2}
    assert entries["ports"].line == 3


def test_keys_are_texts() -> None:
    found = refusal(parse_yaml("a: 1\n[b]: 2\n", "f.yaml").entries)
    assert (found.where, found.found) == ("f.yaml:2", "the key a list")
    assert refusal(parse_yaml("5: 1\n", "f.yaml").entries).expected == "a text as key"


def test_aliases_and_merged_keys() -> None:
    text = "base: &b {size: 1, cost: 2}\nother:\n  <<: *b\n  cost: 3\nsame: *b\n"
    entries = parse_yaml(text, "f.yaml").entries()
    numbers = {
        name: {k: v.integer() for k, v in node.entries().items()} for name, node in entries.items()
    }
    assert numbers == yaml.safe_load(text)
    assert entries["same"].line == 5
    assert entries["other"].entries()["cost"].where == "f.yaml:4: other.cost"


def test_model_errors_are_located() -> None:
    node = value("1")
    with (
        pytest.raises(InputError, match=r"f\.yaml:1: x: found 0 as size") as raised,
        node.locate_errors(),
    ):
        Loop(dimension="K", size=0)
    assert "greater than or equal to 1" in raised.value.expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: c: d\n", 2, "mapping values"),
        ("a: 1\n\tb: 2\n", 2, "character"),
        ("a: [1, 2\n", 2, "expected"),
        ("a: *b\n", 1, "alias"),
        ("a: 1\n---\nb: 2\n", 2, "another document"),
        ("a: 1\nb: \x07\n", 2, "not allowed"),
        ("é: é\nb: \x07\n", 2, "not allowed"),
        ("a: &a {<<: 3}\n", 1, "merging"),
    ],
)
def test_what_is_not_yaml(text: str, line: int, words: str) -> None:
    error = refusal(lambda: parse_yaml(text, "f.yaml"))
    assert error.where == f"f.yaml:{line}"
    assert words in error.found
    assert error.expected == "valid YAML"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_empty_files(text: str) -> None:
    assert refusal(lambda: parse_yaml(text, "f.yaml")).found == "an empty file"


def test_deep_nesting_is_refused_before_the_parser_recurses() -> None:
    deep = "\n" * 6 + "[" * 100_000
    error = refusal(lambda: parse_yaml(deep, "f.yaml"))
    assert (error.where, error.expected) == ("f.yaml:7", f"at most {DEEPEST}")
    assert parse_yaml("[" * DEEPEST + "]" * DEEPEST, "f.yaml").sequence()


def test_many_values_are_refused_before_the_tree_is_built() -> None:
    most = "\n[" + "1," * (MOST_VALUES - 1) + "]"
    assert len(parse_yaml(most, "f.yaml").sequence()) == MOST_VALUES - 1
    error = refusal(lambda: parse_yaml(most[:-1] + "1," * 10_000_000 + "]", "f.yaml"))
    assert (error.where, error.found) == ("f.yaml:2", "more than 500,000 values")


@pytest.mark.parametrize(
    "value",
    [
        "9" * 20_000,
        "1:" * 10_000 + "1",
        "x" * 20_000,
        "!" + "x" * 20_000,
        "&" + "x" * 20_000 + " 1",
    ],
    ids=["digits", "sexagesimal", "text", "tag", "anchor"],
)
@pytest.mark.parametrize("text", ["a: {}\n", "{}: a\n", "- b\n- [{}]\n"])
def test_long_values_are_refused_before_they_are_read(text: str, value: str) -> None:
    error = refusal(lambda: parse_yaml("\n\n" + text.format(value), "f.yaml"))
    assert error.where == f"f.yaml:{4 if text[0] == '-' else 3}"
    assert error.found.startswith(("a value of 20,0", "text that is not YAML"))
    assert len(str(error)) < 200


def test_messages_are_short_whatever_they_quote() -> None:
    names = "".join(f"n{i}: 1\n" for i in range(100_000))
    error = refusal(lambda: parse_yaml(names, "f.yaml").one_of(["a"]))
    assert len(str(error)) < 5000
    known = [f"n{i}" for i in range(100_000)]
    error = refusal(lambda: parse_yaml("a: m", "f.yaml").entries()["a"].one_of(known))
    assert error.expected.endswith("n58, n59 and 99,940 more")
    assert len(str(InputError("w" * 10**6, "f" * 10**6, "e" * 10**6))) < 6100


@pytest.mark.parametrize("merge", ["[*{}, *{}, *{}]", "{{<<: [*{}, *{}, *{}]}}"])
def test_alias_bombs_are_refused(merge: str) -> None:
    lines = ["- &a0 {k: 1}"]
    lines += [f"- &a{i} " + merge.format(*[f"a{i - 1}"] * 3) for i in range(1, 40)]
    error = refusal(lambda: parse_yaml("\n".join(lines), "f.yaml"))
    assert "values" in error.found


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a {<<: *a}"])
def test_anchors_within_themselves_are_refused(text: str) -> None:
    error = refusal(lambda: parse_yaml(text, "f.yaml"))
    assert (error.where, error.found) == ("f.yaml:1", "an anchor that contains itself")


def test_a_long_chain_of_merges_needs_no_deep_recursion() -> None:
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{i}: &a{i} {{<<: *a{i - 1}}}" for i in range(1, 1000)]
    entries = parse_yaml("\n".join(lines), "f.yaml").entries()
    assert entries["a999"].entries()["k"].integer() == 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert refusal(lambda: read_yaml(missing)).where == str(missing)
    assert refusal(lambda: read_yaml(missing)).found == "no such file"
    assert refusal(lambda: read_yaml(tmp_path)).found == "a directory"
    assert "cannot be read" in refusal(lambda: read_yaml(tmp_path / ("x" * 300))).found
    assert "cannot be read" in refusal(lambda: read_yaml(Path("a\0b"))).found
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: \xe9\n")
    error = refusal(lambda: read_yaml(latin))
    assert (error.where, error.found) == (f"{latin}:2", "bytes that are not UTF-8 text")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert list(read_yaml(file).entries()) == ["a"]


def test_the_loader_in_python_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LOADER", yaml.SafeLoader)
    assert value("[1, 2]").sequence()[1].integer() == 2
    assert refusal(lambda: parse_yaml("a: 1\nb: \x07\n", "f")).where == "f:2"
    assert "not YAML" in refusal(lambda: parse_yaml('a: "\\U99999999"', "f")).found
    test_deep_nesting_is_refused_before_the_parser_recurses()


scalars = st.one_of(
    st.integers(-(10**6), 10**6), st.booleans(), st.none(), st.floats(-1e6, 1e6), st.text()
)
trees = st.recursive(
    scalars, lambda t: st.lists(t, max_size=4) | st.dictionaries(st.text(), t, max_size=4)
)


def plain(node: Node) -> object:
    """The value as Python data, read through the accessors alone."""
    for read in (node.integer, node.number_or_none, node.boolean):
        with suppress(InputError):
            found = read()
            if found is not None:
                return found
    if isinstance(node.value, yaml.ScalarNode):
        return None if node.is_null else node.value.value
    if isinstance(node.value, yaml.SequenceNode):
        return [plain(item) for item in node.sequence()]
    return {name: plain(item) for name, item in node.entries().items()}


@settings(deadline=None)
@given(tree=trees)
def test_trees_are_read_as_the_safe_loader_reads_them(tree: object) -> None:
    text = yaml.safe_dump({"x": tree})
    assert plain(parse_yaml(text, "f.yaml")) == yaml.safe_load(text)


@settings(deadline=None)
@given(text=st.text(st.sampled_from("ab: -[]{},&*!|>'\"#%@`\n\t\\?~01.e<=")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        plain(parse_yaml(text, "f.yaml"))
