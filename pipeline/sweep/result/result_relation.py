"""The designs of a sweep as a relation, which is printed, exported and queried as any other."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignSpace
from nestmap.store import Relation
from nestmap.store.rows.sweeps import NETWORK_FIGURES


def relation_of(
    space: DesignSpace, designs: Sequence[DesignResult], front: Sequence[DesignResult]
) -> Relation:
    """A row for each design and what it is mapped for, in order.

    Columns: the number of the design, its parameters, what it is mapped for, energy (pJ), latency
    (cycles), edp, area, objectives that are expressions, the largest gap of a network, whether it
    is on the front, the reason why it has no figures, and the figures of each network.
    """
    best = {(x.number, x.mapped_for) for x in front}
    columns: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {
        "design": pa.array([x.number for x in designs], _integers([x.number for x in designs]))
    }
    for n, parameter in enumerate(space.parameters):
        columns[parameter.name] = _values([x.parameters[n][1] for x in designs])
    columns["mapped_for"] = pa.array([x.mapped_for.value for x in designs], pa.string())
    figures = pa.float64()
    columns["energy"] = pa.array([x.energy for x in designs], figures)
    columns["latency"] = pa.array([x.latency for x in designs], figures)
    columns["edp"] = pa.array([x.edp for x in designs], figures)
    columns["area"] = pa.array([x.area for x in designs], figures)
    for objective in space.objectives:  # an expression such as rows is a column already
        if str(objective) not in columns:
            columns[str(objective)] = pa.array([x.figure(objective) for x in designs], figures)
    columns["gap"] = pa.array([x.gap for x in designs], figures)
    columns["on_front"] = pa.array([(x.number, x.mapped_for) in best for x in designs], pa.bool_())
    columns["reason"] = pa.array([x.reason for x in designs], pa.string())
    networks = [[network.model_dump() for network in x.networks] for x in designs]
    columns["networks"] = pa.array(networks, pa.list_(NETWORK_FIGURES))
    return Relation(pa.table(columns))


def _values(values: list[Value]) -> pa.Array[pa.Scalar[pa.DataType]]:
    """Truth values, whole numbers, numbers, or texts where the kinds are mixed."""
    kinds = {type(x) for x in values}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int}:
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([float(x) for x in values], pa.float64())
    return pa.array(list(map(str, values)), pa.string())


def _integers(numbers: list[int]) -> pa.DataType:
    """64 bits, or decimals for numbers in an astronomic space."""
    return pa.int64() if max(numbers) < 2**63 else pa.decimal128(38)
