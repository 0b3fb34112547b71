"""Collects energy and latency of all mappings of a layer."""

from collections.abc import Iterable
from typing import Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from nestmap.model import EvaluationBatch, SpatialProblem
from nestmap.pipeline.format.mappings import spatial_text
from nestmap.store import SearchCosts

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

_WIDE: Final = 10.0


class Cloud(NamedTuple):
    """A named group of mappings: energies (pJ) and latencies (cycles)."""

    name: str
    energy: Floats
    latency: Floats


@final
class Costs:
    """Collects energies and latencies of mappings, at 16 bytes each."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[Floats, Floats]]] = {}
        self._problem: SpatialProblem | None = None

    def observe(self, batch: EvaluationBatch) -> None:
        """Adds one batch."""
        self.add(batch.mappings.problem, batch.energy.copy(), batch.latency2.copy())

    def add(self, problem: SpatialProblem, energy: Floats, latency: Floats) -> None:
        """Adds mappings of one problem."""
        self._problem = self._problem or problem
        if len(energy):
            name = spatial_text(problem.spatial_mapping)
            self._found.setdefault(name, []).append((energy, latency))

    @property
    def layer(self) -> str:
        """The name of the layer of the first batch."""
        return self._problem.layer.name if self._problem else ""

    @property
    def accelerator(self) -> str:
        """The name of the accelerator."""
        return self._problem.accelerator.name if self._problem else ""

    @property
    def clouds(self) -> tuple[Cloud, ...]:
        """One cloud for each spatial mapping."""
        return tuple(
            Cloud(name, np.concatenate([x for x, _ in rows]), np.concatenate([x for _, x in rows]))
            for name, rows in self._found.items()
        )


def clouds(searches: Iterable[SearchCosts]) -> tuple[Cloud, ...]:
    """The costs of recorded mappings, one cloud for each spatial mapping."""
    costs = Costs()
    for search in searches:
        costs.add(search.problem, search.energy, search.latency)
    return costs.clouds


def equal_costs(*columns: npt.NDArray[np.generic]) -> tuple[Rows, Rows]:
    """A row of each combination of values, which are equal to seven digits, and their number."""
    rounded = np.stack(columns).astype(np.float32)
    _, rows, counts = np.unique(rounded, axis=1, return_index=True, return_counts=True)
    return rows, counts


def is_wide(values: Floats) -> bool:
    """Whether the values differ so much that a logarithmic scale is needed."""
    low, high = float(values.min()), float(values.max())
    return low > 0 and high / low > _WIDE
