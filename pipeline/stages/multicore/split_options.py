"""Options for splitting a network, with the argument names of Stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from pydantic import ValidationError

from nestmap.model import Counting, InputError
from nestmap.model.multicore.split_options import HintLoop, Hints, SplitMode, SplitOptions

GivenLoop = tuple[str, int | str]
"""A loop dimension and a number of tiles, or ``"all"``: ``("OY", "all")``."""

GivenLoops = Sequence[GivenLoop | Sequence[GivenLoop]]
"""Loops, innermost first; in mode 3 several such lists."""

_LOOP: Final = 'a loop dimension and a number of tiles above 0 or "all", such as ("OY", "all")'


def split_options(
    cn_define_mode: int,
    hint_loops: GivenLoops,
    layer_cutoffs: Sequence[int] = (),
    split_W_percentage: float = 1.0,  # noqa: N803 (as in Stream)
    counting: Counting = Counting.EXACT,
) -> SplitOptions:
    """Makes split options from Stream's arguments.

    Args:
        cn_define_mode: 1 to 4, see :class:`~nestmap.model.multicore.split_options.SplitMode`.
        hint_loops: loops, innermost first; in mode 3 one such list for each range of layers.
        layer_cutoffs: in mode 3, the numbers of the nodes at which the next list begins.
        split_W_percentage: in mode 4, the fraction of the smallest memory that constants may
            occupy.
        counting: exact ranges, or as Stream counts.

    Raises:
        InputError: where an argument is invalid, or the arguments contradict each other.
    """
    modes = {int(mode): mode for mode in SplitMode}
    if cn_define_mode not in modes:
        raise InputError("cn_define_mode", str(cn_define_mode), "1, 2, 3 or 4")
    lists = _lists(hint_loops, modes[cn_define_mode])
    if len(lists) != len(layer_cutoffs) + 1:
        raise InputError(
            "layer_cutoffs",
            f"{len(layer_cutoffs)} for {len(lists)} lists of hint_loops",
            f"{len(lists) - 1}, one fewer than there are lists"
            if lists
            else "a list of hint_loops",
        )
    try:
        return SplitOptions(
            mode=modes[cn_define_mode],
            hints=lists,
            cutoffs=tuple(layer_cutoffs),
            weight_share=split_W_percentage,
            counting=counting,
        )
    except ValidationError as error:
        raise InputError.of("split options", error) from None


def _lists(given: GivenLoops, mode: SplitMode) -> tuple[Hints, ...]:
    """The lists of loops: one, or several in mode 3."""
    if isinstance(given, str):  # a string is a sequence, too
        raise InputError("hint_loops", repr(given), f"a list of loops, each {_LOOP}")
    if mode is SplitMode.PER_LAYER:
        return tuple(_hints(loops) for loops in given)
    return (_hints(given),)


def _hints(loops: Iterable[object]) -> Hints:
    return tuple(_hint(loop) for loop in loops)


def _hint(loop: object) -> HintLoop:
    text = repr(loop)
    match loop:
        case (str(dimension), str() | int() as tiles):
            with suppress(ValidationError):
                count = None if tiles == "all" else tiles
                return HintLoop.model_validate({"dimension": dimension.upper(), "tiles": count})
        case _:
            pass
    raise InputError("hint_loops", text, _LOOP)
