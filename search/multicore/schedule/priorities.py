"""Candidate rules: the order of nodes that could start at the same time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_costs import INFEASIBLE
from nestmap.model.multicore.schedule import CandidateRule, ScheduleProblem
from nestmap.model.multicore.split_options import Convention


def ranks(problem: ScheduleProblem) -> Ints:
    """The rank of each node by the candidate rule: distinct numbers, the smallest first."""
    nodes = problem.nodes
    places = np.arange(len(nodes))
    if problem.options.rule is CandidateRule.MEMORY:
        if problem.convention is Convention.STREAM:
            return len(nodes) - 1 - places
        layers = np.searchsorted(nodes.first_nodes, places, side="right") - 1
        groups = np.concatenate([layer.groups for layer in nodes.layers])
        order = np.lexsort((places, groups, -layers))
    else:
        order = np.lexsort((places, -upward_ranks(problem)))
    rank = np.empty(len(nodes), dtype=np.int64)
    rank[order] = places
    return rank


def upward_ranks(problem: ScheduleProblem) -> NDArray[np.float64]:
    """The least cycles from each node's start to the end of the network: its longest path.

    A node takes its mean runtime over the cores that can run it; transfers take no time (the upward
    rank of Topcuoglu et al., "HEFT", TPDS 2002, without communication).
    """
    runtime = problem.costs.runtime
    possible = runtime != INFEASIBLE
    cores = np.maximum(possible.sum(axis=1), 1)
    mean = (np.where(possible, runtime, 0).sum(axis=1) / cores)[problem.costs.kind]
    ways = np.array(mean, dtype=np.float64)
    edges = problem.nodes.edges
    order = np.argsort(-edges.producer, kind="stable")
    for producer, consumer in zip(
        edges.producer[order].tolist(), edges.consumer[order].tolist(), strict=True
    ):
        ways[producer] = max(ways[producer], mean[producer] + ways[consumer])
    return ways
