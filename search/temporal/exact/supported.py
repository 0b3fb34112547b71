"""What the exact search cannot prove yet: its bounds count whole tiles."""

from __future__ import annotations

from nestmap.model import InputError, MappingProblem


def check_supported(problem: MappingProblem) -> None:
    """Checks that the bounds of the exact search hold.

    Raises:
        InputError: if a memory that the layer uses reuses windows, since what a tile then loads
            depends on the order of the loops above it.
    """
    for operand in problem.layer.inputs:
        for level in problem.levels(operand.name):
            if level.instance.window_reuse:
                raise InputError(
                    f"memory {level.name}: window_reuse",
                    "true with the exact search",
                    "--search loma or --search salsa: the bounds of the exact search count "
                    "whole tiles",
                )
