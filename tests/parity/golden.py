"""Recorded whole-network runs of zigzag-dse 3.9.1, read from tests/golden."""

from pathlib import Path

from nestmap.model import (
    Accelerator,
    Counting,
    Cuts,
    Frozen,
    LayerConstraints,
    Loop,
    MappingProblem,
    OperandLink,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Unrolling,
    layer_from_equation,
)

FOLDER = Path(__file__).parents[1] / "golden" / "zigzag"

Four = tuple[float, float, float, float]
Nest = tuple[tuple[str, int], ...]


class RecordedLevel(Frozen, frozen=True):
    """One operand at one memory level."""

    memory: str
    accesses: Four
    energies: Four
    utilization: float
    shared_utilization: float
    effective_shared_utilization: float
    double_buffered: bool


class RecordedCosts(Frozen, frozen=True):
    """The costs of a layer under the package's names."""

    mac_energy: float
    mem_energy: float
    energy_total: float
    ideal_cycle: float
    ideal_temporal_cycle: float
    stall_slack_comb: float
    data_onloading_cycle: float
    data_offloading_cycle: float
    systolic_drain_cycle: float
    latency_total0: float
    latency_total1: float
    latency_total2: float
    mac_spatial_utilization: float
    mac_utilization0: float
    mac_utilization1: float
    mac_utilization2: float


class RecordedLayer(Frozen, frozen=True):
    """A layer, how it was mapped and what that cost; ``names`` are the layers it stands for."""

    names: tuple[str, ...]
    operator: str
    equation: str
    sizes: dict[str, int]
    relations: tuple[str, ...]
    axes: dict[str, int]
    precision: dict[str, int]
    partial_precision: int
    links: dict[str, str]
    spatial_mapping: dict[str, dict[str, int]]
    temporal_mapping: dict[str, tuple[Nest, ...]]
    costs: RecordedCosts
    levels: dict[str, tuple[RecordedLevel, ...]]

    def spatial(self, accelerator: Accelerator) -> SpatialProblem:
        """The layer on the accelerator with the recorded spatial mapping."""
        layer = layer_from_equation(
            self.equation.replace(" = ", " += "),  # ZigZag reports all equations with =
            self.sizes,
            name=self.names[0],
            operator=self.operator,
            relations=self.relations,
            precision=self.precision,
            partial_precision=self.partial_precision,
            axes={name: (size, (0, 0)) for name, size in self.axes.items()},
        )
        links = tuple(OperandLink(operand=x, memory_operand=m) for x, m in self.links.items())
        unrollings = tuple(
            Unrolling(
                array_dimension=name,
                loops=tuple(Loop(dimension=d, size=n) for d, n in loops.items()),
            )
            for name, loops in self.spatial_mapping.items()
        )
        return SpatialProblem(
            problem=MappingProblem(
                layer=layer,
                accelerator=accelerator.counted(Counting.REFERENCE),
                constraints=LayerConstraints(links=links),
            ),
            spatial_mapping=SpatialMapping(unrollings=unrollings),
        )

    @property
    def temporal(self) -> TemporalMapping:
        """The recorded temporal mapping."""
        nests = self.temporal_mapping
        order = [loop for level in next(iter(nests.values())) for loop in level]
        return TemporalMapping(
            order=tuple(Loop(dimension=d, size=n) for d, n in order),
            cuts=tuple(Cuts(operand=x, positions=_cuts(levels)) for x, levels in nests.items()),
        )


class RecordedRun(Frozen, frozen=True):
    """A network on an accelerator: totals in pJ and cycles, and every different layer."""

    accelerator: Accelerator
    energy: float
    latency: float
    layers: tuple[RecordedLayer, ...]


def recorded_runs() -> dict[str, RecordedRun]:
    """All recorded runs by name."""
    return {
        path.stem: RecordedRun.model_validate_json(path.read_text())
        for path in sorted(FOLDER.glob("*.json"))
    }


def _cuts(levels: tuple[Nest, ...]) -> tuple[int, ...]:
    return tuple(sum(len(level) for level in levels[: i + 1]) for i in range(len(levels)))
