"""Any accelerator that computes in memory, and mappings on it."""

from hypothesis import strategies as st

from nestmap.model import IMC_CELLS, Accelerator, MappingProblem
from nestmap.model.base import copy_with
from tests.costmodel.imc.machines import arithmetic, imc_machine
from tests.strategies import (
    Case,
    hierarchies,
    layers,
    memory_levels,
    temporal_mappings,
    unrolled_problems,
)

BANKS = st.none() | st.integers(1, 4)


@st.composite
def imc_machines(draw: st.DrawFn, most_weights: int = 1) -> Accelerator:
    """Any arithmetic, up to so many weights behind each multiplier, any memories above."""
    imc = draw(arithmetic())
    columns, banks = draw(st.integers(1, 9)), draw(BANKS)
    sizes = {"D1": columns, "D2": 1 << draw(st.integers(0, 4))} | ({"D3": banks} if banks else {})
    size = imc.weight_precision * draw(st.integers(1, most_weights))
    cells = draw(memory_levels(IMC_CELLS, ["I2"], [], size))
    return copy_with(
        imc_machine(imc, sizes), {"memories": (cells, *draw(hierarchies(list(sizes))))}
    )


@st.composite
def imc_cases(draw: st.DrawFn, most_macs: int = 2**12) -> Case:
    """A layer on such a machine, with both mappings, diagonal ones among them."""
    problem = MappingProblem(layer=draw(layers(most_macs)), accelerator=draw(imc_machines(4)))
    spatial = draw(unrolled_problems(problem))
    return Case(spatial, draw(temporal_mappings(spatial)))
