"""Batches of mappings and their costs as NumPy columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import numpy.typing as npt

from nestmap.model.arrays import Codes, Floats
from nestmap.model.dims import Loop
from nestmap.model.evaluation.objective import Objective
from nestmap.model.evaluation.result import SearchStatistics
from nestmap.model.mapping.problem import SpatialProblem
from nestmap.model.mapping.temporal import Cuts, TemporalMapping
from nestmap.model.workload.layer import Layer


@final
@dataclass(frozen=True, slots=True, eq=False)
class MappingBatch:
    """Temporal mappings of one spatial problem, one per row; all of them fit their memories.

    ``factors`` are the distinct loops. ``orders`` (rows x loops) has the position in ``factors`` of
    each loop, innermost first; ``cuts`` (rows x operands x levels) is the number of loops at or
    below a level (operands as in the layer; levels an operand does not have hold all loops).
    ``statistics`` counts the candidates rejected while generating these rows.
    """

    problem: SpatialProblem
    factors: tuple[Loop, ...]
    orders: Codes
    cuts: Codes
    statistics: SearchStatistics = field(default_factory=SearchStatistics)

    def __len__(self) -> int:
        return len(self.orders)

    @classmethod
    def of(cls, problem: SpatialProblem, mapping: TemporalMapping) -> MappingBatch:
        """A batch with one mapping."""
        factors = tuple(dict.fromkeys(mapping.order))
        order = [factors.index(loop) for loop in mapping.order]
        operands = [operand.name for operand in problem.layer.operands]
        depth = max(len(mapping.cuts_of(name)) for name in operands)
        cuts = np.full((1, len(operands), depth), len(order), np.uint8)
        for x, name in enumerate(operands):
            positions = mapping.cuts_of(name)
            cuts[0, x, : len(positions)] = positions
        orders = np.array([order], np.uint8).reshape(1, len(order))
        return cls(problem=problem, factors=factors, orders=orders, cuts=cuts)

    @classmethod
    def empty(cls, problem: SpatialProblem, statistics: SearchStatistics) -> MappingBatch:
        """A batch without rows that carries only the statistics of a search."""
        depth = max(len(problem.problem.levels(o.name)) for o in problem.layer.operands)
        cuts = np.empty((0, len(problem.layer.operands), depth), np.uint8)
        return cls(problem, (), np.empty((0, 0), np.uint8), cuts, statistics)

    def row(self, index: int) -> TemporalMapping:
        """The mapping of one row."""
        order = tuple(self.factors[int(code)] for code in self.orders[index])
        cuts: list[Cuts] = []
        for x, operand in enumerate(self.problem.layer.operands):
            levels = len(self.problem.problem.levels(operand.name))
            positions = tuple(int(cut) for cut in self.cuts[index, x, :levels])
            cuts.append(Cuts(operand=operand.name, positions=positions))
        return TemporalMapping(order=order, cuts=tuple(cuts))

    def take(self, rows: npt.NDArray[np.intp]) -> MappingBatch:
        """The rows with these indices, with the statistics of the whole batch."""
        return MappingBatch(
            problem=self.problem,
            factors=self.factors,
            orders=self.orders[rows],
            cuts=self.cuts[rows],
            statistics=self.statistics,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class EvaluationBatch:
    """The costs of a batch of mappings, row by row.

    ``energy`` in pJ; ``latency0``, ``latency1``, ``latency2`` in cycles, as in
    :class:`~nestmap.model.CostModelEvaluation`; ``ideal_cycles`` is the same for all rows.
    ``statistics`` counts the mappings evaluated to obtain these rows.
    """

    mappings: MappingBatch
    energy: Floats
    latency0: Floats
    latency1: Floats
    latency2: Floats
    ideal_cycles: int
    statistics: SearchStatistics

    def __len__(self) -> int:
        return len(self.energy)

    def values(self, objective: Objective) -> Floats:
        """The objective of each row; units as in :class:`~nestmap.model.Objective`."""
        return objective.value_of(self.energy, self.latency2)

    def take(self, rows: npt.NDArray[np.intp]) -> EvaluationBatch:
        """The rows with these indices, with the statistics of the whole batch."""
        return self._select(rows, self.statistics)

    def with_statistics(self, statistics: SearchStatistics) -> EvaluationBatch:
        """The same rows with other statistics."""
        return self._select(np.arange(len(self)), statistics)

    def for_layer(self, layer: Layer) -> EvaluationBatch:
        """The same rows for another layer of equal content, with the bounds and no counts."""
        mappings = replace(self.mappings, problem=self.mappings.problem.for_layer(layer))
        return replace(self, mappings=mappings, statistics=self.statistics.without_counts)

    def _select(self, rows: npt.NDArray[np.intp], statistics: SearchStatistics) -> EvaluationBatch:
        return EvaluationBatch(
            mappings=self.mappings.take(rows),
            energy=self.energy[rows],
            latency0=self.latency0[rows],
            latency1=self.latency1[rows],
            latency2=self.latency2[rows],
            ideal_cycles=self.ideal_cycles,
            statistics=statistics,
        )
