"""Vector operators for tests: by hand, and any of them."""

from hypothesis import strategies as st

from nestmap.model import Accelerator, Tensor, VectorNode, VectorUnit
from nestmap.model.base import copy_with
from tests.strategies import accelerators, energies


def tensor(name: str, *sizes: int, precision: int = 8) -> Tensor:
    """A tensor of so many elements along each axis."""
    return Tensor(name=name, sizes=sizes, precision=precision)


def relu(name: str, *sizes: int, sources: tuple[str, ...] = (), operations: int = 1) -> VectorNode:
    """An operator that reads a tensor of 8 bit and writes one of the same size."""
    return VectorNode(
        name=name,
        operator="Relu",
        sources=sources,
        iterations=sizes,
        operations=operations,
        inputs=(tensor("x", *sizes),),
        outputs=(tensor("y", *sizes),),
    )


def with_unit(
    accelerator: Accelerator, lanes: int = 8, energy: float = 0.25, memory: str | None = None
) -> Accelerator:
    """The accelerator with a vector unit."""
    unit = VectorUnit(lanes=lanes, operation_energy=energy, memory=memory)
    return copy_with(accelerator, {"vector_unit": unit})


@st.composite
def vector_nodes(draw: st.DrawFn) -> VectorNode:
    """Operators with any tensors, empty ones and some of unknown size among them."""
    sizes = st.none() | st.lists(st.integers(0, 300), max_size=3).map(tuple)
    names = st.sampled_from(["a", "b"])
    tensors = st.lists(
        st.builds(Tensor, name=names, sizes=sizes, precision=st.integers(0, 64)), max_size=3
    ).map(tuple)
    return VectorNode(
        name="node",
        operator="Any",
        iterations=tuple(draw(st.lists(st.integers(1, 300), max_size=3))),
        operations=draw(st.integers(0, 40)),
        inputs=draw(tensors),
        outputs=draw(tensors),
    )


def vector_units(accelerator: Accelerator) -> st.SearchStrategy[VectorUnit]:
    """Vector units at any memory that holds outputs."""
    names = [level.name for level in accelerator.levels_of("O")]
    return st.builds(
        VectorUnit,
        lanes=st.integers(1, 4096),
        operation_energy=energies(),
        memory=st.none() | st.sampled_from(names),
        area=st.sampled_from((0.0, 2.5)),
    )


@st.composite
def vector_machines(draw: st.DrawFn) -> Accelerator:
    """Accelerators with a vector unit."""
    accelerator = draw(accelerators())
    return copy_with(accelerator, {"vector_unit": draw(vector_units(accelerator))})
