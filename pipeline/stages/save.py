"""Stages that write results to JSON files and pass them on."""

from __future__ import annotations

from pathlib import Path

from nestmap.model import Frozen, NetworkEvaluation
from nestmap.pipeline.report.json import full_json, summary_json, write_json
from nestmap.pipeline.stage import Stage


class SimpleSaveStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Writes the total and each layer's energy (pJ) and latency (cycles).

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        write_json(self.path, summary_json(evaluation))
        return evaluation


class CompleteSaveStage(Frozen, Stage[NetworkEvaluation, NetworkEvaluation], frozen=True):
    """Writes the total and each layer's whole evaluation: mappings, accesses, energies, latencies.

    Raises:
        InputError: where the file cannot be written.
    """

    path: Path

    def __call__(self, evaluation: NetworkEvaluation, /) -> NetworkEvaluation:
        write_json(self.path, full_json(evaluation))
        return evaluation
