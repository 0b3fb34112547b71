"""Objects of the reference package zigzag-dse, built in memory from nestmap's models."""

import logging
from functools import lru_cache

from zigzag.datatypes import LayerDim, LayerOperand, MemoryOperand, OADimension
from zigzag.hardware.architecture.accelerator import Accelerator as ReferenceAccelerator  # pyright: ignore[reportMissingTypeStubs]
from zigzag.mapping.spatial_mapping import MappingSingleOADim, SpatialMappingHint
from zigzag.mapping.spatial_mapping import SpatialMapping as UserSpatialMapping
from zigzag.mapping.spatial_mapping_internal import SpatialMappingInternal
from zigzag.mapping.temporal_mapping import TemporalMapping as ReferenceTemporalMapping
from zigzag.mapping.temporal_mapping import TemporalMappingType
from zigzag.parser.accelerator_factory import AcceleratorFactory
from zigzag.parser.accelerator_validator import AcceleratorValidator
from zigzag.stages.mapping.spatial_mapping_conversion import SpatialMappingConversionStage  # pyright: ignore[reportMissingTypeStubs]
from zigzag.stages.stage import Stage
from zigzag.workload.layer_attributes import (
    LayerDimRelation,
    LayerDimSizes,
    LayerEquation,
    LayerOperandPrecision,
    LayerPadding,
    LayerTemporalOrdering,
    MemoryOperandLinks,
)
from zigzag.workload.layer_node import LayerNode, LayerNodeAttributes, MappingAttributes

from nestmap.model import (
    Accelerator,
    AffineIndex,
    Layer,
    MappingProblem,
    MappingType,
    MemoryLevel,
    OperationalArray,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
)

# The package tells its users about defaults; here they are chosen on purpose.
logging.getLogger("zigzag").setLevel(logging.CRITICAL + 1)

ACCEPTED = "zigzag-dse does not accept the accelerator"


@lru_cache(maxsize=256)
def reference_accelerator(accelerator: Accelerator) -> ReferenceAccelerator:
    """The accelerator as the package reads it from a YAML description.

    Array dimensions are called D1, D2, ... in the array's order, whatever their names in nestmap.
    """
    validator = AcceleratorValidator(_accelerator_data(accelerator))
    if not validator.validate():
        raise ValueError(f"{ACCEPTED}: {accelerator!r}")
    return AcceleratorFactory(validator.normalized_data).create()


def _accelerator_data(accelerator: Accelerator) -> dict[str, object]:
    names = array_dimension_names(accelerator)
    return {
        "name": accelerator.name,
        "memories": {x.name: _memory_data(x, names) for x in accelerator.memories},
        "operational_array": _array_data(accelerator.array, names) | _imc_data(accelerator.array),
    }


def _array_data(array: OperationalArray, names: dict[str, str]) -> dict[str, object]:
    return {
        "unit_energy": array.unit_energy,
        "unit_area": array.unit_area,
        "dimensions": [names[side.name] for side in array.sides],
        "sizes": [side.size for side in array.sides],
        "systolic_dimensions": [names[x] for x in array.systolic_dimensions],
    }


def _imc_data(array: OperationalArray) -> dict[str, object]:
    imc = array.imc
    if imc is None:
        return {}
    return {
        "is_imc": True,
        "imc_type": imc.kind.value,
        "input_precision": [imc.activation_precision, imc.weight_precision],
        "bit_serial_precision": imc.bit_serial_precision,
        "adc_resolution": imc.adc_resolution,
    }


def array_dimension_names(accelerator: Accelerator) -> dict[str, str]:
    """The package's name of each array dimension; names order the dimensions of an IMC array."""
    names = list(accelerator.array.sizes)
    if accelerator.array.imc:
        names.sort()
    return {name: f"D{i}" for i, name in enumerate(names, start=1)}


def _memory_data(level: MemoryLevel, names: dict[str, str]) -> dict[str, object]:
    instance = level.instance
    return {
        "size": instance.size,
        "r_cost": instance.read_energy,
        "w_cost": instance.write_energy,
        "area": instance.area,
        "latency": instance.latency,
        "auto_cost_extraction": False,
        "operands": list(level.operands),
        "ports": [
            {
                "name": port.name,
                "type": port.kind.value,
                "bandwidth_min": port.width_min,
                "bandwidth_max": port.width_max,
                "allocation": [f"{use.operand}, {use.movement.value}" for use in port.allocation],
            }
            for port in instance.ports
        ],
        "served_dimensions": [names[x] for x in level.served_dimensions],
        "force_double_buffering": instance.double_buffered,
    }


@lru_cache(maxsize=256)
def reference_layer(problem: MappingProblem) -> LayerNode:
    """The problem's layer, its operand links and its temporal ordering."""
    layer = problem.layer
    derived = _derived_dimensions(layer)
    sizes = {LayerDim(name): n for name, n in layer.sizes.items()}
    known = any(index.size is not None for index in derived.values())
    attributes = LayerNodeAttributes(
        layer_type=layer.operator,
        equation=LayerEquation(_equation(layer, derived)),
        layer_dim_sizes=LayerDimSizes({dim: n for dim, n in sizes.items()}),
        operand_precision=LayerOperandPrecision(_precisions(layer)),
        dimension_relations=[_relation(name, index) for name, index in derived.items()],
        padding=LayerPadding({LayerDim(name): x.padding for name, x in derived.items()}),
        constant_operands=[LayerOperand(x.name) for x in layer.inputs if x.constant],
        input_operand_source={},
        pr_layer_dim_sizes=_axis_lengths(layer, derived) if known else None,
    )
    ordering = [
        [loop.dimension, "*" if loop.size is None else loop.size]
        for loop in problem.constraints.temporal_ordering
    ]
    temporal_ordering = LayerTemporalOrdering(ordering)
    temporal_ordering.remove_invalid_layer_dims(attributes.layer_dim_sizes)
    mapping = MappingAttributes(
        spatial_mapping=UserSpatialMapping.empty(),
        spatial_mapping_hint=SpatialMappingHint.empty(),
        memory_operand_links=MemoryOperandLinks(
            {LayerOperand(x): MemoryOperand(m) for x, m in problem.links.items()}
        ),
        temporal_ordering=temporal_ordering,
    )
    return LayerNode(0, layer.name, attributes, mapping)


def _derived_dimensions(layer: Layer) -> dict[str, AffineIndex]:
    """The partially relevant indices of the layer under names that differ."""
    indices = dict.fromkeys(
        index for operand in layer.operands for index in operand.indices if len(index.terms) == 2
    )
    names: dict[str, AffineIndex] = {}
    for position, index in enumerate(indices):
        wanted = index.name or f"PR{position}"
        free = wanted not in names and wanted not in layer.sizes
        names[wanted if free else f"PR{position}"] = index
    return names


def _equation(layer: Layer, derived: dict[str, AffineIndex]) -> str:
    names = {index: name for name, index in derived.items()}
    texts = [
        operand.name
        + "".join(f"[{names.get(index, index.dimensions[0]).lower()}]" for index in operand.indices)
        for operand in layer.operands
    ]
    return f"{texts[0]} = {' * '.join(texts[1:])}"


def _precisions(layer: Layer) -> dict[LayerOperand, int]:
    precisions = {LayerOperand(x.name): x.precision for x in layer.inputs}
    precisions[LayerOperand(layer.output.name)] = layer.output.partial_precision
    precisions[LayerOperand("O_final")] = layer.output.precision
    return precisions


def _relation(name: str, index: AffineIndex) -> LayerDimRelation:
    first, second = index.terms
    return LayerDimRelation(
        dim_1=LayerDim(name),
        dim_2=LayerDim(first.dimension),
        dim_3=LayerDim(second.dimension),
        coef_2=first.coefficient,
        coef_3=second.coefficient,
    )


def _axis_lengths(layer: Layer, derived: dict[str, AffineIndex]) -> LayerDimSizes:
    sizes = layer.sizes
    return LayerDimSizes(
        {
            LayerDim(name): index.axis_length(tuple(sizes[d] for d in index.dimensions))
            for name, index in derived.items()
        }
    )


@lru_cache(maxsize=256)
def reference_spatial_mappings(
    spatial: SpatialProblem,
) -> tuple[SpatialMappingInternal, SpatialMappingInternal]:
    """The fractional and the integer spatial mapping, distributed over memory levels."""
    core = reference_accelerator(spatial.accelerator)
    layer = reference_layer(spatial.problem)
    mapping = user_spatial_mapping(spatial.accelerator, spatial.spatial_mapping)
    mapping.initialize_oa_dims(core.operational_array.dimension_sizes)
    # The stage reads the layer's own mapping when it is made; the layer object is shared.
    layer.spatial_mapping = mapping
    stage = SpatialMappingConversionStage([never_called], accelerator=core, layer=layer)
    return stage.convert_user_spatial_mapping(mapping)


def never_called(list_of_callables: object, **kwargs: object) -> Stage:
    """Stands for the stages after the one that is used, which never get their turn."""
    raise AssertionError(list_of_callables, kwargs)


def user_spatial_mapping(accelerator: Accelerator, mapping: SpatialMapping) -> UserSpatialMapping:
    """The mapping as a user gives it to the package."""
    names = array_dimension_names(accelerator)
    data: dict[OADimension, MappingSingleOADim] = {}
    for unrolling in mapping.unrollings:
        factors: dict[LayerDim, int | float] = {}
        for loop in unrolling.loops:
            dim = LayerDim(loop.dimension)
            factors[dim] = factors.get(dim, 1) * loop.size
        data[OADimension(names[unrolling.array_dimension])] = MappingSingleOADim(factors)
    return UserSpatialMapping(data)


def reference_temporal_mapping(
    spatial: SpatialProblem, temporal: TemporalMapping
) -> ReferenceTemporalMapping:
    """The temporal mapping as loops per operand and level."""
    layer = reference_layer(spatial.problem)
    loops: dict[LayerOperand, list[list[tuple[LayerDim, int | float]]]] = {
        LayerOperand(cuts.operand): [
            [(LayerDim(loop.dimension), loop.size) for loop in temporal.loops_at(cuts.operand, i)]
            for i in range(len(cuts.positions))
        ]
        for cuts in temporal.cuts
    }
    return ReferenceTemporalMapping(loops, layer, TemporalMappingType.UNEVEN)


def reference_mapping_type(mapping_type: MappingType) -> TemporalMappingType:
    """The package's name of the mapping type."""
    return TemporalMappingType(mapping_type.value)
