"""The cost of a mapping onto an array that computes in memory, as zigzag-dse 3.9.1 has it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zigzag.cost_model.cost_model_imc import CostModelEvaluationForIMC

from nestmap.model import ArrayPart, CostModelEvaluation, PartKind, SpatialProblem, TemporalMapping
from tests.parity.comparison import Figure, differing, figures
from tests.parity.reference import ReferenceCrashError, ReferenceEvaluation, evaluation_of
from tests.parity.reference_objects import (
    reference_accelerator,
    reference_layer,
    reference_spatial_mappings,
    reference_temporal_mapping,
    user_spatial_mapping,
)

PRECHARGE = "local_bl_precharging"
"""A part that is always 0 where the package evaluates at all: one weight on a bit line."""

Parts = dict[ArrayPart, float]


@dataclass(frozen=True)
class ReferenceImcEvaluation:
    """Costs as of any array, and those of its parts: pJ, ns, mm2."""

    costs: ReferenceEvaluation
    array_energies: Parts
    areas: Parts
    clock_period: float


def reference_imc_evaluation(
    spatial: SpatialProblem, temporal: TemporalMapping
) -> ReferenceImcEvaluation:
    """What the package says the mapping costs.

    Raises:
        ReferenceCrashError: where the package fails one of its own assertions, or divides by 0.
    """
    cme = reference_imc_cme(spatial, temporal)
    mapping = reference_temporal_mapping(spatial, temporal)
    return ReferenceImcEvaluation(
        costs=evaluation_of(spatial, mapping, cme),
        array_energies=_parts(cme.mac_energy_breakdown),
        areas=_parts(cme.imc_area_breakdown),
        clock_period=float(cme.tclk),
    )


def reference_imc_cme(
    spatial: SpatialProblem, temporal: TemporalMapping
) -> CostModelEvaluationForIMC:
    """The package's own evaluation.

    Raises:
        ReferenceCrashError: where the package fails one of its own assertions, or divides by 0.
    """
    accelerator = reference_accelerator(spatial.accelerator)
    layer = reference_layer(spatial.problem)
    fractional, integer = reference_spatial_mappings(spatial)
    # The array's energy is that of the mapping that the layer has; the layer object is shared.
    layer.spatial_mapping = user_spatial_mapping(spatial.accelerator, spatial.spatial_mapping)
    layer.spatial_mapping.initialize_oa_dims(accelerator.operational_array.dimension_sizes)
    try:
        return CostModelEvaluationForIMC(
            accelerator=accelerator,
            layer=layer,
            spatial_mapping=fractional,
            spatial_mapping_int=integer,
            temporal_mapping=reference_temporal_mapping(spatial, temporal),
        )
    except (AssertionError, ZeroDivisionError) as error:
        raise ReferenceCrashError(repr(error)) from error


def _parts(breakdown: Mapping[str, float] | None) -> Parts:
    assert breakdown is not None
    assert not breakdown.get(PRECHARGE)
    return {ArrayPart(name): float(x) for name, x in breakdown.items() if name != PRECHARGE}


def imc_differences(ours: CostModelEvaluation, theirs: ReferenceImcEvaluation) -> list[str]:
    """One line for each quantity that is not the same; none where all agree."""
    return differing([*figures(ours, theirs.costs), *_part_figures(ours, theirs)])


def _part_figures(ours: CostModelEvaluation, theirs: ReferenceImcEvaluation) -> Iterator[Figure]:
    energies = {entry.part: entry.energy for entry in ours.array_energies}
    areas = {x.part: x.area for x in ours.areas if x.kind is PartKind.ARRAY}
    assert set(energies) == set(theirs.array_energies)
    assert set(areas) == set(theirs.areas)
    for part, energy in theirs.array_energies.items():
        yield f"energy of {part}", energies[part], energy
    for part, area in theirs.areas.items():
        yield f"area of {part}", areas[part], area
    assert ours.clock_period is not None
    yield "clock period", ours.clock_period, theirs.clock_period
