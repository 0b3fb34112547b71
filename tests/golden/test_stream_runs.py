"""nestmap works on the nodes and edges that Stream's genetic algorithm worked on."""

import pytest

from nestmap.search.multicore.schedule.evaluator import Evaluator
from tests.golden.stream_runs import NAMES, allocation_of, problem_of, recorded_run

NOTHING_STREAMS = tuple(name for name in NAMES if name.startswith("mobilenet"))


@pytest.mark.parametrize("name", NAMES)
def test_the_nodes_and_edges_are_those_of_stream(name: str) -> None:
    run = recorded_run(name)
    made = problem_of(run).nodes
    nodes = [(x.id.layer, x.id.node, x.group, x.output.bits) for x in made.nodes()]
    assert nodes == list(run.nodes)
    edges = made.edges
    columns = (edges.producer, edges.consumer, edges.bits)
    found = sorted(zip(*(x.tolist() for x in columns), strict=True))
    assert found == sorted(run.edges)


@pytest.mark.parametrize("name", NAMES)
def test_the_genes_are_those_of_stream(name: str) -> None:
    run = recorded_run(name)
    space = problem_of(run).space
    free = [space.groups[place] for place in space.free_groups]
    assert [(gene.layer, gene.group) for gene in free] == list(run.genes)
    for each in run.evaluated:
        for gene, core in zip(free, each.cores, strict=True):
            assert core in gene.cores


@pytest.mark.parametrize("name", NOTHING_STREAMS)
def test_the_latencies_of_all_allocations_are_those_of_stream(name: str) -> None:
    run = recorded_run(name)
    problem = problem_of(run)
    found = Evaluator(problem)([allocation_of(problem, run, x.cores) for x in run.evaluated])
    assert [x and x.latency for x in found] == [x.latency for x in run.evaluated]
