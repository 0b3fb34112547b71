"""How to split a network, in the words of Stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from pydantic import ValidationError

from nestmap.model import InputError
from nestmap.model.multicore.split_options import (
    Convention,
    HintLoop,
    Hints,
    SplitMode,
    SplitOptions,
)

GivenLoop = tuple[str, int | str]
"""A loop dimension and a number of tiles, or ``"all"``: ``("OY", "all")``."""

GivenLoops = Sequence[GivenLoop | Sequence[GivenLoop]]
"""Loops, the innermost first, or in mode 3 such lists."""

_LOOP: Final = 'a loop dimension and a number of tiles above 0 or "all", such as ("OY", "all")'


def split_options(
    cn_define_mode: int,
    hint_loops: GivenLoops,
    layer_cutoffs: Sequence[int] = (),
    split_W_percentage: float = 1.0,  # noqa: N803 (as users of Stream know it)
    convention: Convention = Convention.EXACT,
) -> SplitOptions:
    """The options that Stream's arguments of these names mean.

    Args:
        cn_define_mode: 1 to 4, see :class:`~nestmap.model.multicore.split_options.SplitMode`.
        hint_loops: loops, the innermost first; in mode 3 one such list for each range of layers.
        layer_cutoffs: for mode 3 the numbers of the nodes at which the next list begins.
        split_W_percentage: the part of the smallest memory that constants may take in mode 4.
        convention: exact ranges, or all as Stream counts it.

    Raises:
        InputError: where one of them is not right, or they do not fit each other.
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
            convention=convention,
        )
    except ValidationError as error:
        raise InputError.of("split options", error) from None


def _lists(given: GivenLoops, mode: SplitMode) -> tuple[Hints, ...]:
    """The lists of loops: one, or in mode 3 several."""
    if isinstance(given, str):  # a sequence, too, but of letters
        raise InputError("hint_loops", repr(given), f"a list; of each loop {_LOOP}")
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
