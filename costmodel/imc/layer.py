"""Energy of an IMC array for a layer and a spatial mapping; independent of the loop order.

Source: J. Sun, P. Houshmand and M. Verhelst, ICCAD 2023, arXiv:2405.14978.
"""

from collections.abc import Iterator
from itertools import product
from math import prod

from nestmap.costmodel.imc.array import macro_of
from nestmap.model import (
    Accelerator,
    ArrayPart,
    Counting,
    Layer,
    PartEnergy,
    Relevance,
    SpatialProblem,
)

# --- the cells of an IMC array as a memory: the energy of reading another weight ---


def precharge_energy(accelerator: Accelerator) -> float:
    """Energy of pre-charging shared bit lines in pJ per weight; 0 if weights share none.

    ``P_w (C_wl + g C_bl) V^2`` for ``g`` weights of ``P_w`` bit behind one multiplier: the array
    gets another weight through a word line and a bit line with ``g`` cells on it, bit by bit
    (arXiv:2405.14978). It is counted once for each weight that the array reads: the reference,
    if it evaluates this term at all, divides again by the cycles that a weight is stationary.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    macro = macro_of(accelerator)
    bits = macro.imc.weight_precision
    sharing = accelerator.cells.instance.size // bits
    if sharing == 1:
        return 0.0
    return bits * (1 + sharing) * macro.circuits.cell_line_energy


Factors = dict[str, int]
"""The unrolling of loop dimensions over one array dimension."""


def array_energies(spatial: SpatialProblem) -> tuple[PartEnergy, ...]:
    """Energy of each component of the array for the layer in pJ (arXiv:2405.14978).

    With ``s1`` and ``s2`` iterations unrolled over columns and rows, macros are activated ``macs /
    (s1 s2)`` times together. Where an unrolling does not divide its loop, the last activation along
    it uses fewer columns or rows; the reference counts a fraction of a whole one. An activation
    takes the cycles of an operation. Precisions are those of the array.

    Raises:
        UnknownNodeError: at an unsupported technology node.
        SupplyVoltageError: at a supply voltage that is too low.
    """
    macro, cycles = macro_of(spatial.accelerator), spatial.accelerator.array.operation_cycles
    totals: dict[ArrayPart, float] = {}
    for on_columns, on_rows, activations in _activations(spatial):
        rows = _rows_of(spatial, on_columns, on_rows)
        for part, pj in macro.cycle_energies(prod(on_columns.values()), rows).items():
            totals[part] = totals.get(part, 0.0) + pj * (cycles * activations)
    return tuple(PartEnergy(part=part, energy=energy) for part, energy in totals.items())


def _activations(spatial: SpatialProblem) -> Iterator[tuple[Factors, Factors, float]]:
    """What is unrolled over columns and rows, and how often a macro is activated so."""
    on_columns, on_rows = _unrolled(spatial)
    if spatial.accelerator.counting is Counting.REFERENCE:
        units = prod(on_columns.values()) * prod(on_rows.values())
        yield on_columns, on_rows, spatial.layer.macs / units
        return
    sizes, kinds = spatial.layer.sizes, list[list[tuple[str, int, int]]]()
    for name in dict.fromkeys([*on_columns, *on_rows]):
        whole = on_columns.get(name, 1) * on_rows.get(name, 1)
        periods, last = divmod(sizes[name], whole)
        kinds.append([(name, n, times) for n, times in ((whole, periods), (last, 1)) if n * times])
    others = prod(size for name, size in sizes.items() if name not in (*on_columns, *on_rows))
    for kind in product(*kinds):
        columns = {name: min(n, on_columns[name]) for name, n, _ in kind if name in on_columns}
        rows = {name: -(-n // on_columns.get(name, 1)) for name, n, _ in kind if name in on_rows}
        yield columns, rows, float(others * prod(times for *_, times in kind))


def rows_in_use(spatial: SpatialProblem) -> int:
    """The rows of a macro with an input: ``s2``, or more if the mapping is diagonal.

    Diagonal: what the weight does not depend on, such as ``OX``, is unrolled over columns, while
    rows unroll its partner in the index of the activation, ``FX``: then ``u`` of one and ``v`` of
    the other take ``u + v - 1`` inputs. This is the intention of arXiv:2405.14978. The reference
    confuses the dimensions for more than one loop on the rows, and fails for a single one or
    if the layer has other loops that the weight does not depend on; nestmap deviates there.

    The weight is the operand that the memory ``cells`` holds.
    """
    return _rows_of(spatial, *_unrolled(spatial))


def _rows_of(spatial: SpatialProblem, on_columns: Factors, on_rows: Factors) -> int:
    if prod(on_rows.values()) == 1:
        return 1
    surplus = {name: _surplus(spatial, name, on_columns) for name in on_rows}
    return prod(factor + surplus[name] for name, factor in on_rows.items())


def _surplus(spatial: SpatialProblem, dimension: str, on_columns: Factors) -> int:
    """Inputs beyond those along a dimension, for what columns unroll of its partner: ``v - 1``."""
    layer, weight = spatial.layer, _weight(spatial)
    if weight is None:
        return 0
    partners = [
        name
        for name in on_columns
        if name != dimension
        and layer.relevance(weight, name) is Relevance.IRRELEVANT
        and _add_up(layer, weight, {name, dimension})
    ]
    return prod(on_columns[name] for name in partners) - 1


def _add_up(layer: Layer, weight: str, dimensions: set[str]) -> bool:
    """Whether an operand other than the weight has these dimensions in one index."""
    indices = [index for x in layer.inputs if x.name != weight for index in x.indices]
    return any(dimensions <= set(index.dimensions) for index in indices)


def _weight(spatial: SpatialProblem) -> str | None:
    """The operand in the cells, if the layer has one."""
    held = spatial.accelerator.cells.operands
    links = spatial.problem.links
    return next((x.name for x in spatial.layer.inputs if links[x.name] in held), None)


def _unrolled(spatial: SpatialProblem) -> tuple[Factors, Factors]:
    """The unrollings over columns and over rows, without unrollings by one."""
    columns, rows = sorted(spatial.accelerator.array.sizes)[:2]
    return _factors(spatial, columns), _factors(spatial, rows)


def _factors(spatial: SpatialProblem, array_dimension: str) -> Factors:
    factors: Factors = {}
    for loop in spatial.spatial_mapping.on(array_dimension):
        if loop.size > 1:
            factors[loop.dimension] = factors.get(loop.dimension, 1) * loop.size
    return factors
