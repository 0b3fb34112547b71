"""How far an exploration is: layers, spatial mappings and mappings, of how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model import EvaluationBatch, SpatialMapping
from nestmap.pipeline.explore.size import ExplorationSize


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
