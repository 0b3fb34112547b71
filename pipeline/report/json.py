"""Results as JSON: energies in pJ, latencies in cycles, sizes in bits."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from nestmap.model import CostModelEvaluation, InputError, LayerResult, NetworkEvaluation

EXPECTED: Final = "a file to write to"

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def summary_json(evaluation: NetworkEvaluation, run: UUID | None = None) -> Json:
    """The totals, and energy and latency of each layer."""
    layers: list[Json] = [_headline(result) for result in evaluation.layers]
    return {"run": _text(run), "total": _total(evaluation), "layers": layers}


def full_json(evaluation: NetworkEvaluation, run: UUID | None = None) -> Json:
    """The totals, and everything known of each layer."""
    layers: list[Json] = [
        _headline(result) | _details(result.cme) | _statistics(result)
        for result in evaluation.layers
    ]
    return {"run": _text(run), "total": _total(evaluation), "layers": layers}


def write_json(path: Path, value: Json) -> None:
    """Writes a value to a file, which is there whole or not at all; also to pipes and devices.

    Raises:
        InputError: where that cannot be done.
    """
    text = json.dumps(value, indent=2) + "\n"
    with _explained(path):
        if _is_special(path):
            path.write_text(text, encoding="utf-8")
            return
        part = _part(path)
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path.resolve())
        finally:
            part.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Finds out before long work whether :func:`write_json` can write to the file.

    Raises:
        InputError: where it cannot.
    """
    if path.is_dir():
        raise InputError(str(path), "a folder", EXPECTED)
    if not path.parent.is_dir():
        raise InputError(str(path), f"no folder {path.parent}", "a file in an existing folder")
    if _is_special(path):
        return  # opening a pipe and closing it would end it for its reader
    with _explained(path):
        part = _part(path)
        part.touch()
        part.unlink()


def _is_special(path: Path) -> bool:
    """Whether it is a pipe or a device, which must be written to and not replaced."""
    return path.exists() and not path.is_file()


def _part(path: Path) -> Path:
    """Where the file grows before it gets its name."""
    whole = path.resolve()
    return whole.with_name(whole.name + ".part")


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), EXPECTED) from None


def _text(run: UUID | None) -> str | None:
    return None if run is None else str(run)


def _total(evaluation: NetworkEvaluation) -> Json:
    return {
        "energy": evaluation.energy,
        "latency": evaluation.latency,
        "edp": evaluation.edp,
        "macs": evaluation.macs,
        "utilization": evaluation.utilization,
        "evaluations": evaluation.evaluations,
    }


def _headline(result: LayerResult) -> dict[str, Json]:
    cme = result.cme
    return {
        "name": cme.layer,
        "operator": cme.operator,
        "energy": cme.energy,
        "latency": cme.latency,
    }


def _details(cme: CostModelEvaluation) -> dict[str, Json]:
    """All fields of the evaluation, the mappings in short form."""
    fields: dict[str, Json] = json.loads(cme.model_dump_json(exclude={"layer", "operator"}))
    spatial: dict[str, Json] = {
        unrolling.array_dimension: [[loop.dimension, loop.size] for loop in unrolling.loops]
        for unrolling in cme.spatial_mapping.unrollings
    }
    temporal: dict[str, Json] = {
        "order": [[loop.dimension, loop.size] for loop in cme.temporal_mapping.order],
        "cuts": {cuts.operand: list(cuts.positions) for cuts in cme.temporal_mapping.cuts},
    }
    derived: dict[str, Json] = {
        "latency0": cme.latency0,
        "latency1": cme.latency1,
        "latency2": cme.latency2,
        "spatial_utilization": cme.spatial_utilization,
        "utilization": cme.utilization,
    }
    mappings: dict[str, Json] = {"spatial_mapping": spatial, "temporal_mapping": temporal}
    return fields | mappings | derived


def _statistics(result: LayerResult) -> dict[str, Json]:
    infeasible: dict[str, Json] = {x.reason: x.count for x in result.statistics.infeasible}
    return {"evaluations": result.statistics.evaluations, "infeasible": infeasible}
