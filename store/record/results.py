"""The results of a run, each with the key under which its evaluation is found again."""

from __future__ import annotations

from typing import final
from uuid import UUID

import duckdb

from nestmap.model import (
    CostModelEvaluation,
    LayerResult,
    NetworkEvaluation,
    SpatialMapping,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.store.rows.cmes import write_cmes
from nestmap.store.rows.content import insert, result_row, vector_row

_COUNTED = "UPDATE runs SET vector_counted = ? WHERE id = ?"

_Mappings = tuple[str, SpatialMapping, TemporalMapping]


@final
class ReportedResults:
    """Evaluations that a run reports in full."""

    def __init__(self) -> None:
        self._keys: dict[_Mappings, str] = {}
        self._reported: dict[str, CostModelEvaluation] = {}

    def add(self, key: str, cme: CostModelEvaluation) -> None:
        """Keeps what the run reports of a mapping."""
        self._keys[_mappings(cme)] = key
        self._reported.setdefault(key, cme)

    def write(
        self, connection: duckdb.DuckDBPyConnection, run: UUID, results: NetworkEvaluation
    ) -> None:
        """Writes the results of a run."""
        keys = self._keys_of(results.layers)
        named = {keys[x.cme.layer]: x.cme for x in reversed(results.layers)}
        write_cmes(connection, self._reported | named)
        rows = [result_row(str(run), i, x, keys[x.cme.layer]) for i, x in enumerate(results.layers)]
        insert(connection, "results", rows)
        vector = [vector_row(str(run), i, entry) for i, entry in enumerate(results.vector)]
        insert(connection, "vector_results", vector)
        connection.execute(_COUNTED, [results.vector_counted, run])

    def _keys_of(self, results: tuple[LayerResult, ...]) -> dict[str, str]:
        """The key of what each layer costs; where none was given, the hash of its content."""
        keys: dict[str, str] = {}
        for result in results:
            cme = result.cme
            if result.repeats in keys:
                keys[cme.layer] = keys[result.repeats]
            else:
                known = self._keys.get(_mappings(cme))
                keys[cme.layer] = known or copy_with(cme, {"layer": ""}).content_hash
        return keys


def _mappings(cme: CostModelEvaluation) -> _Mappings:
    """What tells the evaluations of a run apart."""
    return cme.layer, cme.spatial_mapping, cme.temporal_mapping
