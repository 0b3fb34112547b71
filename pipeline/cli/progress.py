"""The progress bar of an exploration: how much is done, of how much, and how fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from nestmap.model import EvaluationBatch, NetworkProblem, Objective, SpatialMapping
from nestmap.pipeline.cli.progress_line import ProgressBar, left_text
from nestmap.pipeline.explore.size import ExplorationSize
from nestmap.pipeline.format.numbers import count, cycles, energy, engineering, gap_text
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.search.temporal.exact.walk import WalkState

if TYPE_CHECKING:
    from rich.console import Console

# --- how far an exploration is: layers, spatial mappings and mappings, of how many ---


@final
@dataclass(slots=True)
class ExplorationTally:
    """The progress of an exploration of a known size; only different layers count.

    A mapping is done if it is evaluated, infeasible, or taken from the store.
    """

    size: ExplorationSize
    layer: str | None = None
    layers: int = 0
    """Layers that are complete."""
    spatial_mappings: int = 0
    """Spatial mappings of the present layer that were searched or reused."""
    _before: int = 0
    _tried: int = 0
    _searched: SpatialMapping | None = None

    def add(self, batch: EvaluationBatch) -> int:
        """Counts the mappings of a batch, and returns their number."""
        self._enter(batch.mappings.problem.layer.name)
        spatial = batch.mappings.problem.spatial_mapping
        if self._searched != spatial:
            self._searched = spatial
            self.spatial_mappings += 1
        tried = sum(x.count for x in batch.statistics.infeasible) + batch.statistics.evaluations
        self._tried += tried
        return tried

    @property
    def mappings(self) -> int:
        """Mappings that are done, with those that complete layers have pruned."""
        return self._before + self._tried

    @property
    def left(self) -> int | None:
        """Mappings that are left; ``None``: unknown."""
        return None if self.size.mappings is None else max(0, self.size.mappings - self.mappings)

    def _enter(self, layer: str) -> None:
        if layer == self.layer:
            return
        if self.layer is not None:
            self.layers += 1
            expected = {x.layer: x.mappings for x in self.size.layers}.get(self.layer)
            self._before += self._tried if expected is None else expected
        self.layer = layer
        self.spatial_mappings = self._tried = 0
        self._searched = None


# --- how far the exact search of a layer is ---


@final
@dataclass(slots=True)
class _LayerWalk:
    """The walk over the spatial mappings of a layer, ``began`` seconds after the exploration."""

    layer: str | None
    objective: Objective | None
    began: float
    texts: Sequence[str] = ()


def _walk_texts(state: WalkState, seconds: float) -> Iterator[str]:
    """Spatial mappings left, the best objective, how far it may be off, and the time left.

    The search ends when all spatial mappings are searched, or all of its work is done.
    """
    yield f"{count(state.left)} spatial mappings left"
    if state.objective is not None and state.best is not None:
        yield f"best {_value_text(state.objective, *state.best)}"
    if state.gap is not None:
        yield f"gap {gap_text(state.gap)}"
    if state.done and state.work:
        yield left_text(seconds * min(state.left / state.done, (1 - state.work) / state.work))


def _value_text(objective: Objective, picojoules: float, cycles_: float) -> str:
    match objective:
        case Objective.ENERGY:
            return energy(picojoules)
        case Objective.LATENCY:
            return f"{cycles(cycles_)} cycles"
        case Objective.EDP:
            return engineering(picojoules * cycles_ * 1e-12, "J x cycles")


# --- the progress bar of an exploration: how much is done, of how much, and how fast ---

_LONGEST_NAME: Final = 16


@final
class ExplorationBar(ProgressBar):
    """The progress of an exploration; its rates are those of mappings."""

    def __init__(self, size: ExplorationSize, console: Console | None = None) -> None:
        super().__init__(console, "reading")
        self._tally = ExplorationTally(size)
        self._evaluations = 0
        self._tried = 0
        self._recalled = 0
        self._walk: _LayerWalk | None = None

    @property
    def has_evaluated(self) -> bool:
        """Whether anything was evaluated rather than reused."""
        return self._evaluations > 0

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""
        self._clock.restart()
        self._show()

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""
        self._clock.add_work()
        self._tried += self._tally.add(batch)
        self._evaluations += len(batch)
        self._show()

    def recall(self, batch: EvaluationBatch) -> None:
        """A search is reused: its Pareto front, with the statistics of all."""
        self._clock.skip()
        self._tally.add(batch)
        self._recalled += batch.statistics.evaluations
        self._show()

    def walked(self, state: WalkState) -> None:
        """Some more spatial mappings of a layer are searched."""
        layer, elapsed, walk = self._tally.layer, self._clock.elapsed, self._walk
        is_same = walk is not None and (walk.layer, walk.objective) == (layer, state.objective)
        if walk is None or not is_same:
            walk = self._walk = _LayerWalk(layer, state.objective, elapsed)
        walk.texts = tuple(_walk_texts(state, elapsed - walk.began))
        self._show()

    def _show(self) -> None:
        tally, size = self._tally, self._tally.size
        layers = f"{tally.layers}/{len(size.layers)} layers"
        text = [layers, self._mappings(), self._rate(), self._time_left()]
        if self._walk is not None and self._walk.layer == tally.layer:
            text = [layers, *self._walk.texts]
        self._line.update(
            ", ".join(filter(None, text)),
            description=printable(tally.layer or "")[:_LONGEST_NAME],
            completed=tally.layers if size.mappings is None else tally.mappings,
            total=len(size.layers) if size.mappings is None else size.mappings,
        )

    def _mappings(self) -> str:
        known = self._tally.size.mappings
        if known is not None:
            return f"{engineering(self._tally.mappings)} of {engineering(known)} mappings"
        found = f"{count(self._evaluations)} mappings"
        if not self._tally.spatial_mappings:
            return found
        return f"spatial mapping {count(self._tally.spatial_mappings)}, {found}"

    def _rate(self) -> str:
        """Nothing for a search with proofs: its time goes into what it need not evaluate."""
        rate = self._clock.per_second(self._evaluations)
        is_known = self._tally.size.mappings is not None
        return f"{count(int(rate))}/s" if is_known and rate is not None else ""

    def _time_left(self) -> str:
        left, rate = self._tally.left, self._clock.per_second(self._tried)
        if left is None or rate is None:
            return ""
        return left_text(left / rate)

    def _summary(self) -> tuple[str, str]:
        evaluated = ["no mappings" if self._recalled else "0 mappings"]
        if self._evaluations:
            evaluated = [f"{count(self._evaluations)} mappings", self._rate()]
        known = f" {count(self._recalled)} were reused from the store." if self._recalled else ""
        return f"Evaluated {', '.join(filter(None, evaluated))}", known
