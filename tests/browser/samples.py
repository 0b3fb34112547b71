"""A store with runs of a small network under names that markup could trip over."""

from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from nestmap.model import (
    Layer,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.pages.report.page import report
from nestmap.store import Store
from tests.costmodel.machines import convolution, matmul
from tests.pipeline.networks import MACHINE

HOSTILE: Final = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "</script><svg onload='window.hacked = 3'>",
    "{{ 7 * 7 }} ${window.hacked = 4} &amp; 'a' \\u003cb>",
    "'];window.hacked = 5;//",
    "two\nlines",
    "plain",
    "blocks.11/attention/self/query/MatMul_quantized_with_a_long_name/" + "x" * 80,
)
"""Names of layers; the last two layers are the same as the first two."""

MACHINE_NAME: Final = "<b onmouseover='window.hacked = 6'>machine</b>"


class ReportedRun(NamedTuple):
    """A run of the store and what it found."""

    id: UUID
    evaluation: NetworkEvaluation


class Explored(NamedTuple):
    """A store and the runs in it."""

    path: Path
    runs: tuple[ReportedRun, ...]


def network(machine_name: str) -> NetworkProblem:
    """Some products and a convolution, two of them repeated, in a machine of that name."""
    kinds = (
        matmul(k=8, c=12, b=2),
        matmul(k=6, c=10),
        convolution({"K": 4, "C": 6, "OX": 5, "FX": 3}),
        matmul(k=12, c=4),
        layer_from_equation(
            "O[b][k]+=W[k][c]*I[b][c]", {"B": 3, "K": 9, "C": 3}, name="layer", operator="<Op>"
        ),
        matmul(k=3, c=16, b=2),
    )
    layers = [*kinds, *kinds[:2]]
    return NetworkProblem(
        workload=Workload.of(*map(_named, layers, HOSTILE), name="net <i>&amp;</i>"),
        accelerator=copy_with(MACHINE, {"name": machine_name}),
    )


def _named(layer: Layer, name: str) -> Layer:
    return copy_with(layer, {"name": name})


def explored(path: Path) -> Explored:
    """Three runs: for latency, for energy, and on a machine of another name."""
    asked = (
        (Objective.LATENCY, "machine"),
        (Objective.ENERGY, "machine"),
        (Objective.LATENCY, MACHINE_NAME),
    )
    with Store.open(path) as store:
        runs = tuple(_run(store, objective, name) for objective, name in asked)
    return Explored(path, runs)


def _run(store: Store, objective: Objective, name: str) -> ReportedRun:
    found = explore_network(
        network(name),
        SearchPlan.of(
            SearchOptions(search="loma", objective=objective, lpf_limit=4, spatial_mappings=2)
        ),
        store=store,
        recording=Recording(record=RecordMode.ALL),
    )
    return ReportedRun(found.run, found.total)


def written(of: Explored, count: int) -> Path:
    """The report of the first so many runs, in a file beside the store."""
    path = of.path.with_name(f"report-{count}.html")
    with Store.open_read_only(of.path) as store:
        path.write_text(report(store, [run.id for run in of.runs[:count]]), encoding="utf-8")
    return path
