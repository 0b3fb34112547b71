"""Small valid models that tests take apart."""

from nestmap.model import (
    MOVEMENTS,
    Accelerator,
    ArraySide,
    Layer,
    MappingProblem,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    OperationalArray,
    PortKind,
    PortUse,
    layer_from_equation,
)


def fully_connected(**sizes: int) -> Layer:
    """A matrix product, 2 x 8 x 4 unless told otherwise."""
    return layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]", {"B": 2, "K": 8, "C": 4} | sizes, name="fc"
    )


def convolution() -> Layer:
    """A one-dimensional convolution with stride 2."""
    return layer_from_equation(
        "O[k][ox]+=W[k][c][fx]*I[c][ix]",
        {"K": 4, "C": 3, "OX": 5, "FX": 3},
        name="conv",
        operator="Conv",
        relations=["ix=2*ox+1*fx"],
    )


def port(*uses: PortUse, width_min: int = 8, width_max: int = 64) -> MemoryPort:
    """A read-write port with the given duties."""
    return MemoryPort(
        name="rw_port_1",
        kind=PortKind.READ_WRITE,
        width_min=width_min,
        width_max=width_max,
        allocation=uses,
    )


def memory(
    name: str, *operands: str, served: tuple[str, ...] = (), size: int = 4096
) -> MemoryLevel:
    """A memory whose one port serves every movement of its operands."""
    uses = [PortUse(operand=x, movement=m) for x in operands for m in MOVEMENTS]
    instance = MemoryInstance(
        name=name, size=size, read_energy=1.0, write_energy=2.0, area=0.5, ports=(port(*uses),)
    )
    return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def array(*sizes: int) -> OperationalArray:
    """An array with dimensions D1, D2, ..."""
    sides = tuple(ArraySide(name=f"D{i}", size=n) for i, n in enumerate(sizes, start=1))
    return OperationalArray(sides=sides, unit_energy=0.5, unit_area=0.25)


def machine() -> Accelerator:
    """A 4 x 2 array with output registers below a memory for everything."""
    return Accelerator(
        name="machine",
        array=array(4, 2),
        memories=(memory("register", "O"), memory("dram", "I1", "I2", "O", served=("D1", "D2"))),
    )


def problem() -> MappingProblem:
    """The matrix product on the machine."""
    return MappingProblem(layer=fully_connected(), accelerator=machine())
