"""How fast the named queries, and those of the README, answer from a store with millions of rows.

Run ``python -m benchmarks.store_queries [MILLIONS]``; without: 10 million. The layers, their
mappings and results are those of ResNet-50; the recorded evaluations are made up, 720 a search as
LOMA makes them with six loop factors. Each query is asked in a store that was just opened, and
once more. Answers are compared with what was recorded.
"""

import resource
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import permutations
from math import isclose
from pathlib import Path
from time import perf_counter
from typing import Final, final
from uuid import UUID

import numpy as np

from nestmap.model import (
    EvaluationBatch,
    Loop,
    MappingBatch,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.model.evaluation.front import front_rows
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.store import Parameter, Relation, RunInfo, SearchInfo, Store
from nestmap.store.read.named_queries import Arguments
from nestmap.store.read.sql import Value

README: Final = (
    "SELECT layer, energy, latency FROM best ORDER BY energy DESC LIMIT 5",
    "SELECT layer, count(*) AS mappings, min(latency) AS fastest, max(latency) / min(latency) AS "
    "spread FROM evaluations GROUP BY layer ORDER BY spread DESC LIMIT 5",
    "SELECT * FROM totals",
    "SELECT energy, latency, ordering, cuts FROM evaluations ORDER BY energy LIMIT 5",
)
FACTORS: Final = tuple(
    Loop(dimension=name, size=size)
    for name, size in (("K", 2), ("K", 3), ("C", 2), ("C", 5), ("OX", 7), ("OY", 7))
)
ORDERS: Final = np.array(list(permutations(range(len(FACTORS)))), np.uint8)
COSTS: Final = 200
"""How many different costs 720 evaluations have: on ascend_like 200, on tpu_like 50."""
DIFFERENT: Final = 50
"""Sets of evaluations made beforehand, to be recorded again and again with other latencies."""
BOUND: Final = 1.0
"""How long a query may take (s)."""


@final
@dataclass(frozen=True)
class Written:
    """What was recorded: the run, an earlier one, its results, and all evaluations of a layer."""

    run: UUID
    earlier: UUID
    total: NetworkEvaluation
    layer: str
    energy: np.ndarray[tuple[int], np.dtype[np.float64]]
    latency: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def arguments(self) -> Arguments:
        """Values for all parameters."""
        return {
            Parameter.RUN: self.run,
            Parameter.AGAINST: self.earlier,
            Parameter.LAYER: self.layer,
            Parameter.K: 10,
        }


def problems(network: NetworkProblem, total: NetworkEvaluation) -> list[SpatialProblem]:
    """What is searched: each different layer, under the spatial mapping of its result."""
    layers = {layer.name: layer for layer in network.workload.layers}
    return [
        SpatialProblem(
            problem=MappingProblem(
                layer=layers[result.cme.layer],
                accelerator=network.accelerator,
                constraints=network.constraints.of(layers[result.cme.layer]),
            ),
            spatial_mapping=result.cme.spatial_mapping,
        )
        for result in total.layers
        if result.repeats is None
    ]


def batches(problem: SpatialProblem) -> list[EvaluationBatch]:
    """All orders, with costs and cuts of the kind that occur: repeated, whole cycles."""
    random = np.random.default_rng(0)
    operands = problem.layer.operands
    levels = max(len(problem.problem.levels(x.name)) for x in operands)
    rows = len(ORDERS)
    energies = random.random(5000) * 1e9 + 1e8
    made: list[EvaluationBatch] = []
    for _ in range(DIFFERENT):
        like = random.integers(0, COSTS, rows)
        cuts = np.sort(random.integers(0, 7, (COSTS, len(operands), levels)), axis=2)[like]
        cycles = random.integers(10**5, 3 * 10**6, COSTS).astype(np.float64)
        onloading = random.integers(0, 5000, COSTS)
        rest = random.integers(5000, 8000, COSTS)
        made.append(
            EvaluationBatch(
                mappings=MappingBatch(
                    problem=problem, factors=FACTORS, orders=ORDERS, cuts=cuts.astype(np.uint8)
                ),
                energy=random.choice(energies, COSTS)[like],
                latency0=cycles[like],
                latency1=(cycles + onloading)[like],
                latency2=(cycles + rest)[like],
                ideal_cycles=90_000,
                statistics=SearchStatistics(evaluations=rows),
            )
        )
    return made


def write(path: Path, millions: float) -> Written:
    """Records an exploration of an earlier day in full, and one with so many evaluations."""
    network = read_network("light:resnet50", "tpu_like")
    plan = SearchPlan.of(SearchOptions(search="loma", lpf_limit=3, objective=Objective.ENERGY))
    with Store.open(path) as store:
        earlier = explore_network(network, plan, store=store).run
        total = explore_network(
            network, SearchPlan.of(SearchOptions(search="loma", lpf_limit=4))
        ).total
        searched = problems(network, total)
        made = [batches(problem) for problem in searched]
        searches = round(millions * 1e6 / len(ORDERS))
        start = perf_counter()
        energy, latency = [np.empty(0)], [np.empty(0)]
        with store.start_run(info(network)) as run:
            for i in range(searches):
                place = i * len(searched) // searches  # a layer after the other
                batch = made[place][i % DIFFERENT]
                batch = replace(batch, latency2=batch.latency2 + i)
                spatial = searched[place]
                with run.record_search(SearchInfo(key=f"benchmark {i}", spatial=spatial)) as search:
                    search.record(batch)
                if place == 0:
                    energy.append(batch.energy)
                    latency.append(batch.latency2)
            run.finish(total)
        spent = perf_counter() - start
    rows, size = searches * len(ORDERS), path.stat().st_size
    print(f"{rows:,} evaluations in {searches:,} searches: {rows / spent:,.0f} a second,")
    print(f"{size / 1e6:.1f} MB, {size / rows:.1f} bytes an evaluation")
    first = searched[0].layer.name
    energies, latencies = np.concatenate(energy), np.concatenate(latency)
    return Written(run.id, earlier, total, first, energies, latencies)


def info(network: NetworkProblem) -> RunInfo:
    """What the run is about."""
    return RunInfo(command="benchmark", version="0", objective=Objective.LATENCY, network=network)


def ask(path: Path, written: Written, names: tuple[str, ...] = ()) -> dict[str, Relation]:
    """Asks the named queries, or those of these names, and says how long each took."""
    answers: dict[str, Relation] = {}
    with Store.open_read_only(path) as store:
        queries = store.named_queries()
    for query in queries:
        if (query.name in names) if names else Parameter.SWEEP not in query.parameters:
            given = {x: written.arguments[x] for x in query.parameters}
            values = [given[x] for x in query.parameters]
            answers[query.name] = timed(path, str(query), query.sql, values)
    return answers


def timed(path: Path, name: str, sql: str, values: list[Value]) -> Relation:
    """Asks twice, first in a store that was just opened."""
    with Store.open_read_only(path) as store:
        answer, first = asked(store, sql, values)
        _, again = asked(store, sql, values)
    slow = "  TOO SLOW" if first > BOUND else ""
    print(
        f"{first * 1e3:8.1f} ms, again {again * 1e3:8.1f} ms, {len(answer):6,} rows  {name}{slow}"
    )
    return answer


def asked(store: Store, sql: str, values: list[Value]) -> tuple[Relation, float]:
    """The answer and how long it took (s)."""
    start = perf_counter()
    answer = store.query(sql, values)
    return answer, perf_counter() - start


def check(answers: dict[str, Relation], written: Written) -> None:
    """Makes sure that the answers are right, where that is cheap to find out.

    Raises:
        AssertionError: if one is not.
    """
    (row,) = answers["network_totals"]
    assert row["energy"] == written.total.energy
    spent = sum(float(str(row["energy"])) for row in answers["energy_by_memory"])
    assert isclose(spent, sum(x.cme.memory_energy for x in written.total.layers))
    check_front(answers["pareto"], written)
    order = np.lexsort((written.latency, written.energy, written.latency))[:10]
    best = [(row["energy"], row["latency"]) for row in answers["top"]]
    assert best == list(zip(written.energy[order], written.latency[order], strict=True))


def check_front(answer: Relation, written: Written) -> None:
    """Makes sure that the front of the first layer is right.

    Raises:
        AssertionError: if it is not.
    """
    rows = front_rows(written.energy, written.latency)
    found = [(row["energy"], row["latency"]) for row in answer if row["layer"] == written.layer]
    assert found == list(zip(written.energy[rows], written.latency[rows], strict=True))


def main() -> None:
    """Writes, asks, and asks once more what an interrupted run leaves."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        written = write(path, millions)
        check(ask(path, written), written)
        for sql in README:
            timed(path, sql, sql, [])
        with Store.open(path) as store:
            store.query("UPDATE searches SET evaluations = NULL, front = NULL")
        print("As if no search were complete:")
        check_front(ask(path, written, ("pareto", "top"))["pareto"], written)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
