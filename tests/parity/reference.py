"""The reference package zigzag-dse 3.9.1 as a typed function from our models to its numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from zigzag.cost_model.cost_model import CostModelEvaluation as ReferenceCme
from zigzag.datatypes import LayerOperand, MemoryOperand
from zigzag.hardware.architecture.imc_array import ImcArray  # pyright: ignore[reportMissingTypeStubs]
from zigzag.hardware.architecture.memory_level import MemoryLevel as ReferenceMemoryLevel  # pyright: ignore[reportMissingTypeStubs]
from zigzag.hardware.architecture.memory_port import DataDirection  # pyright: ignore[reportMissingTypeStubs]
from zigzag.hardware.architecture.operational_array import MultiplierArray  # pyright: ignore[reportMissingTypeStubs]
from zigzag.mapping.data_movement import FourWayDataMoving
from zigzag.mapping.temporal_mapping import TemporalMapping as ReferenceTemporalMapping
from zigzag.opt.loma.engine import NoValidLoopOrderingFoundException
from zigzag.stages.mapping.temporal_mapping_generator_stage import TemporalMappingGeneratorStage  # pyright: ignore[reportMissingTypeStubs]

from nestmap.model import Cuts, Loop, MappingType, SpatialProblem, TemporalMapping
from tests.parity.reference_objects import (
    never_called,
    reference_accelerator,
    reference_layer,
    reference_mapping_type,
    reference_spatial_mappings,
    reference_temporal_mapping,
)

Four = tuple[float, float, float, float]
"""One figure per movement, in the order of ``nestmap.model.MOVEMENTS``."""

_DIRECTIONS = (
    DataDirection.RD_OUT_TO_LOW,
    DataDirection.WR_IN_BY_LOW,
    DataDirection.RD_OUT_TO_HIGH,
    DataDirection.WR_IN_BY_HIGH,
)

Unrollings = tuple[tuple[str, float], ...]
"""Loop dimensions with their unrolling factors."""


@dataclass(frozen=True)
class ReferenceLevel:
    """One operand at one memory level, named as in ``nestmap.model.LevelEvaluation``.

    ``elements`` and ``bits`` are those of the fractional spatial mapping (energy, utilization),
    ``elements_int`` those of the integer one (latency). ``allowed_cycles`` and ``real_cycles``
    are the window and the need of one transfer, by movement.
    """

    operand: str
    memory: str
    level: int
    accesses: Four
    energies: Four
    energy: float
    elements: float
    elements_int: float
    bits: float
    utilization: float
    shared_utilization: float
    effective_utilization: float
    effective_shared_utilization: float
    double_buffered: bool
    allowed_cycles: Four
    real_cycles: Four


@dataclass(frozen=True)
class ReferencePort:
    """A physical port: its stall (positive) or slack, and the union of its windows, in cycles.

    The union is 0 for a port without movements.
    """

    memory: str
    port: str
    stall: float
    window_union: float


@dataclass(frozen=True)
class ReferenceEvaluation:
    """The package's cost of one mapping, named as in ``nestmap.model.CostModelEvaluation``.

    ``stationary`` is per operand the loops after its stationary ones moved down, level by level.
    """

    mac_energy: float
    memory_energy: float
    energy: float
    levels: tuple[ReferenceLevel, ...]
    ports: tuple[ReferencePort, ...]
    ideal_cycles: float
    ideal_temporal_cycles: float
    stall: float
    onloading: float
    offloading: float
    drain: float
    latency0: float
    latency1: float
    latency2: float
    spatial_utilization: float
    utilizations: tuple[float, float, float]
    area: float
    stationary: tuple[tuple[str, tuple[tuple[Loop, ...], ...]], ...]

    @property
    def port_stalls(self) -> dict[tuple[str, str], float]:
        """Stall or slack by memory and port."""
        return {(x.memory, x.port): x.stall for x in self.ports}

    def level(self, operand: str, level: int) -> ReferenceLevel:
        """One operand at one of its levels (0: innermost)."""
        return next(x for x in self.levels if (x.operand, x.level) == (operand, level))


class ReferenceCrashError(Exception):
    """The package breaks down on a mapping that nestmap accepts."""


@lru_cache(maxsize=4096)
def reference_evaluation(spatial: SpatialProblem, temporal: TemporalMapping) -> ReferenceEvaluation:
    """What the package says the mapping costs.

    Raises:
        ReferenceCrashError: where the package fails one of its own assertions, or divides by 0.
    """
    return _evaluated(spatial, reference_temporal_mapping(spatial, temporal), same_data_free=True)


def reference_evaluation_counting_same_data(
    spatial: SpatialProblem, temporal: TemporalMapping
) -> ReferenceEvaluation:
    """The same with ``access_same_data_considered_as_no_access=False``."""
    return _evaluated(spatial, reference_temporal_mapping(spatial, temporal), same_data_free=False)


def reference_allocations(
    spatial: SpatialProblem,
    lpf_limit: int,
    mapping_type: MappingType = MappingType.UNEVEN,
    limit: int | None = None,
) -> list[tuple[TemporalMapping, ReferenceEvaluation]]:
    """The temporal mappings of the package's LOMA engine in its order, each with its cost.

    The temporal ordering of ``spatial.problem.constraints`` is obeyed. ``limit`` keeps the first
    so many. The list is empty where the engine finds that no ordering fits.
    """
    mappings = reference_mappings(spatial, lpf_limit, mapping_type)
    return [
        (temporal, reference_evaluation(spatial, temporal)) for temporal in islice(mappings, limit)
    ]


def reference_mappings(
    spatial: SpatialProblem, lpf_limit: int, mapping_type: MappingType = MappingType.UNEVEN
) -> Iterator[TemporalMapping]:
    """The temporal mappings of the package's LOMA engine in its order."""
    fractional, _ = reference_spatial_mappings(spatial)
    layer = reference_layer(spatial.problem)
    stage = TemporalMappingGeneratorStage(
        [never_called],
        accelerator=reference_accelerator(spatial.accelerator),
        layer=layer,
        spatial_mapping=fractional,
        temporal_mapping_type=reference_mapping_type(mapping_type),
        loma_lpf_limit=lpf_limit,
    )
    try:
        for mapping in stage.generate_temporal_mappings():
            yield temporal_mapping_of(mapping)
    except NoValidLoopOrderingFoundException:
        return


def temporal_mapping_of(mapping: ReferenceTemporalMapping) -> TemporalMapping:
    """The package's temporal mapping as order and cuts."""
    nests = mapping.mapping_dic_origin
    order = [loop for level in next(iter(nests.values())) for loop in level]
    return TemporalMapping(
        order=tuple(Loop(dimension=d.name, size=int(n)) for d, n in order),
        cuts=tuple(
            Cuts(operand=x.name, positions=_running([len(level) for level in levels]))
            for x, levels in nests.items()
        ),
    )


def _running(lengths: list[int]) -> tuple[int, ...]:
    return tuple(sum(lengths[: i + 1]) for i in range(len(lengths)))


@dataclass(frozen=True)
class ReferenceSpatialForm:
    """Per operand: unrollings at each level (0: between the MACs and the first memory)."""

    unrollings: dict[str, tuple[Unrollings, ...]]
    units: dict[str, tuple[float, ...]]
    unique: dict[str, tuple[float, ...]]
    boost: dict[str, tuple[float, ...]]


def reference_spatial_forms(
    spatial: SpatialProblem,
) -> tuple[ReferenceSpatialForm, ReferenceSpatialForm]:
    """The fractional and the integer spatial mapping per level, with unit counts and boosts."""
    forms: list[ReferenceSpatialForm] = []
    for internal in reference_spatial_mappings(spatial):
        unrollings = {
            x.name: tuple(tuple((d.name, float(n)) for d, n in level) for level in levels)
            for x, levels in internal.mapping_dict_origin.items()
        }
        forms.append(
            ReferenceSpatialForm(
                unrollings=unrollings,
                units={x.name: tuple(v) for x, v in internal.unit_count.items()},
                unique={x.name: tuple(v) for x, v in internal.unit_unique.items()},
                boost={x.name: tuple(v) for x, v in internal.mem_bw_boost.items()},
            )
        )
    return forms[0], forms[1]


def _evaluated(
    spatial: SpatialProblem, mapping: ReferenceTemporalMapping, *, same_data_free: bool
) -> ReferenceEvaluation:
    return evaluation_of(spatial, mapping, _run(spatial, mapping, same_data_free=same_data_free))


def evaluation_of(
    spatial: SpatialProblem, mapping: ReferenceTemporalMapping, cme: ReferenceCme
) -> ReferenceEvaluation:
    """What the package's evaluation of the mapping says."""
    return ReferenceEvaluation(
        mac_energy=cme.mac_energy,
        memory_energy=cme.mem_energy,
        energy=cme.energy_total,
        levels=tuple(_levels(spatial, cme)),
        ports=tuple(_ports(cme)),
        ideal_cycles=cme.ideal_cycle,
        ideal_temporal_cycles=cme.ideal_temporal_cycle,
        stall=cme.stall_slack_comb,
        onloading=cme.data_onloading_cycle,
        offloading=cme.data_offloading_cycle,
        drain=cme.systolic_drain_cycle,
        latency0=cme.latency_total0,
        latency1=cme.latency_total1,
        latency2=cme.latency_total2,
        spatial_utilization=cme.mac_spatial_utilization,
        utilizations=(cme.mac_utilization0, cme.mac_utilization1, cme.mac_utilization2),
        area=_area(cme),
        stationary=tuple(_stationary(mapping)),
    )


def _run(
    spatial: SpatialProblem, mapping: ReferenceTemporalMapping, *, same_data_free: bool
) -> ReferenceCme:
    fractional, integer = reference_spatial_mappings(spatial)
    try:
        return ReferenceCme(
            accelerator=reference_accelerator(spatial.accelerator),
            layer=reference_layer(spatial.problem),
            spatial_mapping=fractional,
            spatial_mapping_int=integer,
            temporal_mapping=mapping,
            access_same_data_considered_as_no_access=same_data_free,
            cycles_per_op=spatial.accelerator.array.operation_cycles,
        )
    except (AssertionError, ZeroDivisionError) as error:
        raise ReferenceCrashError(repr(error)) from error


def _levels(spatial: SpatialProblem, cme: ReferenceCme) -> Iterator[ReferenceLevel]:
    links = spatial.problem.links
    for operand in spatial.layer.operands:
        x, m = LayerOperand(operand.name), MemoryOperand(links[operand.name])
        for i, level in enumerate(cme.mem_hierarchy_dict[m]):
            yield ReferenceLevel(
                operand=operand.name,
                memory=level.memory_instance.name,
                level=i,
                accesses=_four(cme.memory_word_access[x][i]),
                energies=_four(cme.mem_energy_breakdown_further[x][i]),
                energy=cme.mem_energy_breakdown[x][i],
                elements=cme.mapping.data_elem_per_level_unrolled[x][i + 1],
                elements_int=cme.mapping_int.data_elem_per_level_unrolled[x][i + 1],
                bits=cme.mapping.data_bit_per_level_unrolled[x][i + 1],
                utilization=cme.mem_utili_individual[x][i],
                shared_utilization=cme.mem_utili_shared[x][i],
                effective_utilization=cme.effective_mem_utili_individual[x][i],
                effective_shared_utilization=cme.effective_mem_utili_shared[x][i],
                double_buffered=cme.double_buffer_true[x][i + 1],
                allowed_cycles=_four(cme.allowed_mem_update_cycle[x][i]),
                real_cycles=_four(cme.real_data_trans_cycle[x][i]),
            )


def _four(figures: FourWayDataMoving[int] | FourWayDataMoving[float]) -> Four:
    a, b, c, d = (figures.get(direction) for direction in _DIRECTIONS)
    return a, b, c, d


def _ports(cme: ReferenceCme) -> Iterator[ReferencePort]:
    stalls, unions = cme.stall_slack_comb_collect, cme.mem_updating_window_union_collect
    for level, by_port, union in zip(cme.mem_level_list, stalls, unions, strict=True):
        for port in by_port:
            name = level.memory_instance.name
            yield ReferencePort(name, str(port), by_port[port], union.get(port, 0))


def _area(cme: ReferenceCme) -> float:
    """The package counts a memory of an IMC accelerator once, and cells again beside the array."""
    array = cme.accelerator.operational_array
    if isinstance(array, MultiplierArray):
        return array.total_area + sum(_memory_area(level) for level in cme.mem_level_list)
    assert isinstance(array, ImcArray)
    _cells, *others = cme.mem_level_list
    assert array.area is not None
    return array.area + sum(map(_memory_area, others))


def _memory_area(level: ReferenceMemoryLevel) -> float:
    return level.memory_instance.area * level.unroll_count


def _stationary(
    mapping: ReferenceTemporalMapping,
) -> Iterator[tuple[str, tuple[tuple[Loop, ...], ...]]]:
    for x, levels in mapping.mapping_dic_stationary.items():
        nest = [tuple(Loop(dimension=d.name, size=int(n)) for d, n in level) for level in levels]
        yield x.name, tuple(nest)
