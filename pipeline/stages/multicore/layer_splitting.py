"""The stage that splits layers whose constants exceed the capacity of the cores."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import final

from nestmap.model import Frozen, InputOperand, LayerNode
from nestmap.model.base import copy_with
from nestmap.model.multicore.core_constraints import CoreAllocation, CoreMapping
from nestmap.model.multicore.problem import StreamProblem
from nestmap.model.multicore.split_options import Fraction
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.multicore.split.layer_parts import LayerSplit, split_layers
from nestmap.search.multicore.split.weight_split_plan import SplitAlong


class Fitting(StrEnum):
    """The cores whose memories must hold the constants of a layer."""

    SOME_CORE = "some core"
    """The core with the largest memory of those that may run it."""
    EVERY_CORE = "every core"
    """The core with the smallest memory, as in Stream: every core can run every part."""


class SplitModel(Frozen, frozen=True):
    """The ONNX file that a workload was read from, and the one for the split network."""

    source: Path
    target: Path


class LayerSplittingStage(Frozen, Stage[StreamProblem, StreamProblem], frozen=True):
    """Splits layers whose constants exceed the capacity of the cores into layers that fit.

    The parts of a layer inherit its entry in the mapping; if it fixes as many cores as there are
    parts, each part gets one of them. ``share`` is the fraction of a memory that the constants of
    a layer may occupy (0.5 corresponds to Stream's ``split_W_double_buffered``), ``along`` selects
    the channels to split first, and ``fitting`` the memory that counts. With ``model``, the split
    network is also written as an ONNX file, without the data of weights.

    Raises:
        InputError: where even single channels do not fit, or the model cannot be written.
    """

    share: Fraction = 1.0
    along: SplitAlong = SplitAlong.OUTPUTS
    fitting: Fitting = Fitting.SOME_CORE
    model: SplitModel | None = None

    def __call__(self, problem: StreamProblem, /) -> StreamProblem:
        room = _Room(problem, self.share, self.fitting)
        split = split_layers(problem.workload, room, self.along)
        if self.model is not None:
            # imported only when a model is written: onnx takes long to import
            from nestmap.pipeline.frontend.onnx_export.model import write_split_model  # noqa: PLC0415

            write_split_model(self.model.source, self.model.target, split.splits)
        parts = {each.layer.name: each for each in split.splits}
        mapping = CoreMapping(
            entries=tuple(
                made
                for entry in problem.mapping.entries
                for made in _entries(entry, parts.get(entry.target))
            )
        )
        return copy_with(problem, {"workload": split.workload, "mapping": mapping})


@final
class _Room:
    """The capacity of the cores for a constant operand."""

    def __init__(self, problem: StreamProblem, share: float, fitting: Fitting) -> None:
        self._problem = problem
        self._share = share
        self._fitting = fitting

    def __call__(self, node: LayerNode, operand: InputOperand) -> int | None:
        rooms = self._problem.constant_capacities(node, operand.name)
        if not rooms:
            return None
        chosen = max(rooms) if self._fitting is Fitting.SOME_CORE else min(rooms)
        return int(self._share * chosen)


def _entries(entry: CoreAllocation, split: LayerSplit | None) -> Iterator[CoreAllocation]:
    """The entries of the mapping for the parts of a layer, which replace its own entry."""
    if split is None:
        yield entry
        return
    parts = split.parts
    own = entry.fixed and len(entry.cores) == len(parts)
    for place, part in enumerate(parts):
        cores = entry.cores[place : place + 1] if own else entry.cores
        yield copy_with(entry, {"target": part.name, "cores": cores})
