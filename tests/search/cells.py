"""An array as in-memory computing has it: cells with weights between rows and columns."""

from nestmap.model import Accelerator
from tests.costmodel.machines import machine, memory


def array_of_cells(columns: int, rows: int, inputs: str = "D1", outputs: str = "D2") -> Accelerator:
    """``columns`` (D1) x ``rows`` (D2) cells that hold a weight each.

    ``inputs`` and ``outputs`` are the array dimensions that the innermost registers serve.
    """
    everywhere = "D1 D2"
    return machine(
        memory("cells", 8, "I2"),
        memory("registers", 8, "I1", inputs),
        memory("accumulators", 16, "O", outputs, width=16),
        memory("buffer", 2**21, "I1 O", everywhere, width=512),
        memory("top", served=everywhere, width=64),
        sides={"D1": columns, "D2": rows},
    )
