"""The relaxation of the allocation problem as a constraint program for OR-Tools CP-SAT."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache, cached_property
from itertools import product
from typing import Final, NamedTuple, final

import numpy as np
from ortools.sat.python import cp_model

from nestmap.model.arrays import Flags, Ints
from nestmap.search.multicore.allocation.core_distances import cycles, to_lists
from nestmap.search.multicore.allocation.lower_bounds import Bounds
from nestmap.search.multicore.allocation.requirements import Choices, Flow, Requirements

# --- the tensors that use each channel, depending on the allocation, for a constraint program ---

Columns = tuple[int, ...]
"""The columns of the cores of some node groups."""


class Condition(NamedTuple):
    """A condition on the cores of one or two node groups; ``columns`` are the combinations."""

    genes: tuple[int, ...]
    columns: frozenset[Columns]


class LinkUse(NamedTuple):
    """If a condition holds, a tensor uses a channel before a node starts (``None``.

    At any time).
    """

    condition: Condition
    node: int | None


class SentTensor(NamedTuple):
    """A tensor that may use a channel: after a node (``None``: from the start), for its uses."""

    maker: int | None
    time: int
    uses: tuple[LinkUse, ...]

    @property
    def conditions(self) -> frozenset[Condition]:
        """The tensor uses the channel if one of these conditions holds."""
        return frozenset(use.condition for use in self.uses)


@final
class LinkTraffic:
    """The possible traffic of a channel over all allocations of a problem."""

    def __init__(self, demands: Requirements) -> None:
        self.demands = demands
        self._genes = to_lists(demands.gene)
        self._kinds = to_lists(demands.kind)

    def sent(self, wire: int) -> tuple[SentTensor, ...]:
        """The tensors that use a channel under some allocation, each with all its uses."""
        width = self.demands.wires[wire]
        uses: dict[tuple[int | None, int, int], dict[LinkUse, None]] = {}
        for tensor, use in (*self._supplied(wire), *self._written(wire)):
            uses.setdefault(tensor, {})[use] = None
        return tuple(
            SentTensor(maker, cycles(bits, width), tuple(found))
            for (maker, _, bits), found in uses.items()
        )

    def is_certain(self, condition: Condition) -> bool:
        """Whether a condition holds for all allocations."""
        count = int(np.prod([len(self.demands.columns[gene]) for gene in condition.genes]))
        return len(condition.columns) == count

    def _supplied(self, wire: int) -> Iterator[tuple[tuple[int | None, int, int], LinkUse]]:
        @cache
        def condition_of(gene: int, kind: int, read: int) -> Condition:
            return self._condition((gene,), self.demands.supply_crosses(kind, read, wire))

        for node, supplies in enumerate(self.demands.supplies):
            for part, read, bits in supplies:
                condition = condition_of(self._genes[node], self._kinds[node], read)
                if condition.columns:
                    yield (None, part, bits), LinkUse(condition, node)

    def _written(self, wire: int) -> Iterator[tuple[tuple[int | None, int, int], LinkUse]]:
        demands = self.demands
        conditions = [
            self._condition((x.producer, x.consumer), demands.crosses(x, wire))
            for x in demands.flows
        ]
        for maker, node, flow in demands.edges:
            if conditions[flow].columns:
                yield (maker, maker, demands.flows[flow].bits), LinkUse(conditions[flow], node)
        for maker, bits in demands.results.items():
            crosses = demands.result_crosses(self._kinds[maker], wire)
            condition = self._condition((self._genes[maker],), crosses)
            if condition.columns:
                yield (maker, maker, bits), LinkUse(condition, None)

    def _condition(self, genes: tuple[int, ...], flags: Flags) -> Condition:
        """The flagged combinations among the cores that the node groups may use."""
        places = np.ix_(*(self.demands.columns[gene] for gene in genes))
        chosen = np.argwhere(flags[places])
        columns = [self.demands.columns[gene] for gene in genes]
        found = (tuple(columns[i][at] for i, at in enumerate(row)) for row in chosen.tolist())
        return Condition(genes, frozenset(found))


def remaining_uses(sent: SentTensor, bounds: Bounds) -> int:
    """The least time in cycles from the transfer of a tensor over a channel to the end of all."""
    ends = (use.node for use in sent.uses)
    return min(0 if x is None else bounds.runtimes[x] + bounds.tails[x] for x in ends)


def arrival_time(sent: SentTensor, bounds: Bounds) -> int:
    """The least time in cycles at which a tensor can use a channel."""
    return 0 if sent.maker is None else bounds.heads[sent.maker] + bounds.runtimes[sent.maker]


# --- the relaxation of the allocation problem as a constraint program for OR-Tools CP-SAT ---

Term = cp_model.LinearExpr | int
"""A sum of variables."""


PATHS: Final = 100
"""The limit on nodes and edges in paths, as a multiple of the limit on intervals."""


class Relaxation(StrEnum):
    """The level of detail of a relaxation; more detail gives tighter bounds and takes longer."""

    INTERVALS = "intervals"
    """The start of each node and first transfer; one at a time on each core and channel."""
    PATHS = "paths"
    """The start of each node; a capacity constraint on the total load of each core and channel."""
    LOADS = "loads"
    """Only the capacity constraints on the total load of each core and channel."""


class Limits(NamedTuple):
    """Limits for CP-SAT: deterministic work units, and seconds."""

    work: float
    seconds: float | None
    seed: int


class Answer(NamedTuple):
    """The result of CP-SAT: an allocation as columns, and a bound for all allocations not excluded.

    ``exhausted``: no allocation remains. ``work`` is the deterministic work used.
    """

    columns: tuple[int, ...] | None
    bound: int
    exhausted: bool
    work: float


@final
class Program:
    """Variables and constraints; the latency variable bounds that of an allocation from below."""

    def __init__(self, demands: Requirements, detail: int) -> None:
        self.demands = demands
        self.model = cp_model.CpModel()
        self.bounds = Bounds(demands, demands.columns)
        self.crossings = LinkTraffic(demands)
        self._genes = to_lists(demands.gene)
        self._kinds = to_lists(demands.kind)
        self._pairs: dict[tuple[int, int], dict[tuple[int, int], Term]] = {}
        self._literals: dict[frozenset[Condition], cp_model.IntVar] = {}
        self.relaxation: Final = self._relaxation(detail)
        self.on = [self._choice(gene, columns) for gene, columns in enumerate(demands.columns)]
        least = self.bounds.latency
        self.latency = self.model.new_int_var(least, max(least, self._horizon), "latency")
        self.model.minimize(self.latency)
        self._add_cores()
        if self.relaxation is not Relaxation.LOADS:
            self._add_paths()
        for wire in demands.wires:
            self._add_wire(wire)

    def solve(self, limits: Limits) -> Answer:
        """The allocation with the least latency that the relaxation admits."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = limits.seed
        solver.parameters.max_deterministic_time = limits.work
        if limits.seconds is not None:
            solver.parameters.max_time_in_seconds = limits.seconds
        status = solver.solve(self.model)
        work = solver.response_proto.deterministic_time
        if status == cp_model.INFEASIBLE:
            return Answer(None, 0, True, work)
        bound = int(np.ceil(solver.best_objective_bound - 1e-6))
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Answer(None, bound, False, work)
        columns = tuple(
            next(column for column, there in on.items() if solver.value(there)) for on in self.on
        )
        return Answer(columns, bound, False, work)

    def cut(self, choices: Choices) -> None:
        """Excludes all allocations that assign every node group to one of its given choices."""
        pairs = zip(choices, self.on, strict=True)
        self.model.add_bool_or(
            [there for chosen, on in pairs for c, there in on.items() if c not in chosen]
        )

    def keep(self, least: int, most: int | None) -> None:
        """Limits the latency to at least ``least`` and, if given, at most ``most``, in cycles."""
        self.model.add(self.latency >= least)
        if most is not None:
            self.model.add(self.latency <= most)

    def _relaxation(self, detail: int) -> Relaxation:
        """The most detailed relaxation within the size limits."""
        demands = self.demands
        intervals = sum(len(demands.columns[gene]) for gene in self._genes)
        intervals += sum(map(len, self._sent.values()))
        if intervals <= detail:
            return Relaxation.INTERVALS
        paths = len(self._genes) + len(demands.problem.nodes.edges)
        return Relaxation.PATHS if paths <= PATHS * detail else Relaxation.LOADS

    @cached_property
    def _horizon(self) -> int:
        """A latency in which all work can run sequentially, under any allocation."""
        demands = self.demands
        total = int(demands.problem.costs.runtime[demands.kind].max(axis=1).sum())
        total += sum(int(demands.onloading(need).max()) for need in demands.needs)
        delays = [int(demands.delay(flow).max()) for flow in demands.flows]
        total += sum(delays[flow] for _, _, flow in demands.edges)
        for node, bits in demands.results.items():
            total += int(demands.offloading(self._kinds[node], bits).max())
        for wire, width in demands.wires.items():
            total += sum(sent.time for sent in self._sent[wire])
            total += sum(int(demands.stream_bits(x, wire).max()) for x in self._kinds) // width + 1
        return total

    @cached_property
    def _sent(self) -> dict[int, tuple[SentTensor, ...]]:
        return {wire: self.crossings.sent(wire) for wire in self.demands.wires}

    def _choice(self, gene: int, columns: Sequence[int]) -> dict[int, cp_model.IntVar]:
        """For each column, a variable that tells whether the node group is assigned to it."""
        if len(columns) == 1:
            return {columns[0]: self.model.new_constant(1)}
        on = {column: self.model.new_bool_var(f"gene {gene} on {column}") for column in columns}
        self.model.add_exactly_one(on.values())
        return on

    def _both(self, one: int, other: int) -> dict[tuple[int, int], Term]:
        """For each pair of columns, a variable: two node groups are assigned to them."""
        if (one, other) not in self._pairs:
            self._pairs[one, other] = self._new_both(one, other)
        return self._pairs[one, other]

    def _new_both(self, one: int, other: int) -> dict[tuple[int, int], Term]:
        ends = self.on[one], self.on[other]
        if one == other:
            return {(c, c): there for c, there in ends[0].items()}
        for place in (0, 1):
            if len(ends[place]) == 1:
                return {x: ends[1 - place][x[1 - place]] for x in product(*ends)}
        both = {x: self.model.new_bool_var(f"genes {one}, {other} on {x}") for x in product(*ends)}
        for place in (0, 1):
            for column, there in ends[place].items():
                part = [both[x] for x in both if x[place] == column]
                self.model.add(sum(part) == there)
        return {x: term for x, term in both.items()}

    def _by_core(self, gene: int, values: Ints) -> Term:
        """The entry for the core of a node group."""
        return sum(int(values[c]) * there for c, there in self.on[gene].items())

    def _delay(self, flow: Flow) -> Term:
        """The least time between the ends of a flow."""
        times = self.demands.delay(flow)
        ends = (self.demands.columns[flow.producer], self.demands.columns[flow.consumer])
        least = int(times[np.ix_(*ends)].min())
        if (times[np.ix_(*ends)] == least).all():
            return least
        both = self._both(flow.producer, flow.consumer).items()
        return sum(int(times[at]) * there for at, there in both if times[at])

    @cached_property
    def _starts(self) -> list[cp_model.IntVar]:
        bounds, count = self.bounds, len(self._genes)
        return [
            self.model.new_int_var(bounds.heads[x], max(bounds.heads[x], self._horizon), f"{x}")
            for x in range(count)
        ]

    @cached_property
    def _ends(self) -> list[Term]:
        runtime = self.demands.problem.costs.runtime
        nodes = zip(self._starts, self._genes, self._kinds, strict=True)
        return [start + self._by_core(gene, runtime[kind]) for start, gene, kind in nodes]

    def _add_paths(self) -> None:
        """Nodes start after their predecessors and after the arrival of their off-chip inputs."""
        demands = self.demands
        delays = [self._delay(flow) for flow in demands.flows]
        for producer, consumer, flow in demands.edges:
            self.model.add(self._starts[consumer] >= self._ends[producer] + delays[flow])
        for node, need in enumerate(demands.needs):
            times = demands.onloading(need)
            if times.any():
                self.model.add(self._starts[node] >= self._by_core(self._genes[node], times))
        for node, tail in enumerate(self.bounds.tails):
            self.model.add(self.latency >= self._ends[node] + tail)
        for node, bits in demands.results.items():
            times = demands.offloading(self._kinds[node], bits)
            after = self._by_core(self._genes[node], times)
            self.model.add(self.latency >= self._ends[node] + after)

    def _add_cores(self) -> None:
        """Cores run one node at a time, or at least their total load fits into the latency."""
        runtime, bounds = self.demands.problem.costs.runtime, self.bounds
        for column in range(len(self.demands.places)):
            nodes = [x for x, gene in enumerate(self._genes) if column in self.on[gene]]
            if not nodes:
                continue
            loads: dict[int, int] = {}
            for x in nodes:
                time = int(runtime[self._kinds[x], column])
                loads[self._genes[x]] = loads.get(self._genes[x], 0) + time
            around = min(bounds.heads[x] for x in nodes) + min(bounds.tails[x] for x in nodes)
            load = sum(time * self.on[gene][column] for gene, time in loads.items())
            self.model.add(self.latency >= load + around)
            if self.relaxation is Relaxation.INTERVALS:
                self.model.add_no_overlap([self._node(x, column) for x in nodes])

    def _node(self, node: int, column: int) -> cp_model.IntervalVar:
        """The interval of a node on a core, present if the node is assigned to it."""
        time = int(self.demands.problem.costs.runtime[self._kinds[node], column])
        there = self.on[self._genes[node]][column]
        start, name = self._starts[node], f"{node} on {column}"
        return self.model.new_optional_fixed_size_interval_var(start, time, there, name)

    def _add_wire(self, wire: int) -> None:
        """Channels carry one tensor at a time next to streams, or at least their load fits."""
        width, sent = self.demands.wires[wire], self._sent[wire]
        rows = [(x, self.demands.stream_bits(kind, wire)) for x, kind in enumerate(self._kinds)]
        streams = [(node, bits) for node, bits in rows if bits.any()]
        heads = [*(arrival_time(x, self.bounds) for x in sent)]
        tails = [*(remaining_uses(x, self.bounds) for x in sent)]
        heads += [self.bounds.heads[node] for node, _ in streams]
        tails += [self.bounds.tails[node] for node, _ in streams]
        if not heads:
            return
        total: dict[frozenset[Condition], int] = {}
        for each in sent:
            total[each.conditions] = total.get(each.conditions, 0) + each.time
        sending = sum(time * width * self._any(x) for x, time in total.items())
        load = sending + sum(self._by_core(self._genes[node], bits) for node, bits in streams)
        self.model.add((self.latency - min(heads) - min(tails)) * width >= load)
        if self.relaxation is Relaxation.INTERVALS:
            self._add_transfers(wire, streams)

    def _add_transfers(self, wire: int, streams: Iterable[tuple[int, Ints]]) -> None:
        """The first transfer of each tensor over a channel, before all its uses; and streams."""
        width = self.demands.wires[wire]
        taken = [self._transfer(sent) for sent in self._sent[wire] if sent.time]
        rates = [width] * len(taken)
        runtime = self.demands.problem.costs.runtime
        for node, bits in streams:
            for column in self.on[self._genes[node]]:
                if bits[column]:
                    taken.append(self._node(node, column))
                    rates.append(int(bits[column] // runtime[self._kinds[node], column]))
        self.model.add_cumulative(taken, rates, width)

    def _transfer(self, sent: SentTensor) -> cp_model.IntervalVar:
        first = self.model.new_int_var(0, self._horizon, "sent")
        if sent.maker is not None:
            self._only_if(sent.conditions, first >= self._ends[sent.maker])
        for use in sent.uses:
            before = self.latency if use.node is None else self._starts[use.node]
            self._only_if(frozenset((use.condition,)), before >= first + sent.time)
        there = self._any(sent.conditions)
        return self.model.new_optional_fixed_size_interval_var(first, sent.time, there, "sent")

    def _only_if(
        self, conditions: frozenset[Condition], expression: cp_model.BoundedLinearExpression | bool
    ) -> None:
        """A constraint that is enforced only if one of some conditions holds."""
        constraint = self.model.add(expression)
        constraint.only_enforce_if([self._any(conditions)])  # pyright: ignore[reportUnknownMemberType]

    def _any(self, conditions: frozenset[Condition]) -> cp_model.IntVar:
        """Whether one of some conditions holds."""
        if conditions not in self._literals:
            self._literals[conditions] = self._new_any(conditions)
        return self._literals[conditions]

    def _new_any(self, conditions: frozenset[Condition]) -> cp_model.IntVar:
        if any(map(self.crossings.is_certain, conditions)):
            return self.model.new_constant(1)
        there = self.model.new_bool_var("taken")
        for condition in sorted(conditions, key=lambda x: (x.genes, sorted(x.columns))):
            self.model.add(self._holds(condition) <= there)
        return there

    def _holds(self, condition: Condition) -> Term:
        if len(condition.genes) == 1:
            on = self.on[condition.genes[0]]
            return sum(on[columns[0]] for columns in sorted(condition.columns))
        both = self._both(condition.genes[0], condition.genes[1])
        return sum(both[columns[0], columns[1]] for columns in sorted(condition.columns))
