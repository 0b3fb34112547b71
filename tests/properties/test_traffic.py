"""The outermost memory moves at least what the layer cannot do without.

Every element of an input leaves its top memory at least once, and every output reaches it. Word
accesses are cut to whole words, so one word may be missing. Where unrollings do not divide their
loops, counts come from fractions that are rounded to whole elements, units and boosts (spec
sections 2 and 4): each of the three roundings takes a third at most (1.5 becomes 1). For affine
indices the fractions are cut off before the sizes combine, and no such bound is claimed.
"""

from hypothesis import given

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import OUTPUT, AffineIndex, CostModelEvaluation, Layer, Movement, SpatialProblem
from nestmap.model.workload.layer import Operand
from tests.properties.variants import examples
from tests.strategies import Case, evaluated_cases


def divides(spatial: SpatialProblem) -> bool:
    """Whether all unrollings divide their loops."""
    mapping = spatial.spatial_mapping
    return all(size % mapping.factor_of(d) == 0 for d, size in spatial.layer.sizes.items())


def positions(layer: Layer, index: AffineIndex) -> int:
    """Different positions on an axis that the layer touches, counted one by one."""
    sizes = tuple(layer.sizes[d] for d in index.dimensions)
    if len(sizes) == 1:
        return sizes[0]
    a, b = (term.coefficient for term in index.terms)
    touched = {a * i + b * j for i in range(sizes[0]) for j in range(sizes[1])}
    return min(len(touched), index.axis_length(sizes))


def tensor_bits(layer: Layer, operand: Operand) -> int:
    """Bits of the operand's tensor, outputs in their final precision."""
    bits = operand.precision
    for index in operand.indices:
        bits *= positions(layer, index)
    return bits


def moved_bits(spatial: SpatialProblem, cme: CostModelEvaluation, operand: str) -> int:
    """Bits between the operand's top memory and what lies below, and one word more."""
    levels = spatial.problem.levels(operand)
    memory_operand = spatial.problem.links[operand]
    movement = Movement.WR_BY_LOW if memory_operand == OUTPUT else Movement.RD_TO_LOW
    place = levels[-1].port_index(memory_operand, movement)
    assert place is not None
    width = levels[-1].instance.ports[place].width_max
    accesses = cme.level(operand, len(levels) - 1).costs.accesses_of(movement)
    return (accesses + 1) * width


@examples
@given(evaluated_cases().filter(lambda case: divides(case.spatial)))
def test_the_top_moves_every_tensor_once(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    for operand in case.spatial.layer.operands:
        needed = tensor_bits(case.spatial.layer, operand)
        assert moved_bits(case.spatial, cme, operand.name) >= needed


@examples
@given(evaluated_cases())
def test_ragged_unrollings_hide_some_of_it_at_most(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    for operand in case.spatial.layer.operands:
        if all(len(index.terms) == 1 for index in operand.indices):
            needed = tensor_bits(case.spatial.layer, operand)
            assert moved_bits(case.spatial, cme, operand.name) >= needed * (2 / 3) ** 3


@examples
@given(evaluated_cases())
def test_nothing_moves_beyond_the_top(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    for operand in case.spatial.layer.operands:
        top = cme.level(operand.name, len(case.spatial.problem.levels(operand.name)) - 1)
        assert top.costs.accesses_of(Movement.RD_TO_HIGH) == 0
        assert top.costs.accesses_of(Movement.WR_BY_HIGH) == 0
