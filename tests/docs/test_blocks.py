"""How documents are taken apart, and how what they show is compared."""

import pytest

from tests.docs.blocks import Block, commands_of, is_shown


def test_commands_and_what_they_show() -> None:
    text = '$ a "b\n  c" d  # why\n$ e\nshown\n...\n$ f\n'
    first, second, third = commands_of(Block("console", None, text, 1))
    assert first.arguments == ("a", "b\n  c", "d")
    assert (first.shown, second.shown, third.shown) == ((), ("shown", "..."), ())


def test_a_block_of_commands_begins_with_one() -> None:
    with pytest.raises(AssertionError, match="'shown' is no command"):
        list(commands_of(Block("console", None, "shown\n", 1)))


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        (("a", "b", "c"), True),
        (("a", "..."), True),
        (("...", "b", "..."), True),
        (("a", "...", "c"), True),
        (("...",), True),
        (("a", "b"), False),
        (("b", "..."), False),
        (("a", "c", "..."), False),
        (("...", "c", "b", "..."), False),
        (("...", "d"), False),
    ],
)
def test_what_is_shown(shown: tuple[str, ...], right: bool) -> None:
    assert is_shown(shown, ["a", "b", "c"]) == right
