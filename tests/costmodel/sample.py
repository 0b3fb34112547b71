"""A small search whose numbers are printed as JSON, to run with and without compilation."""

import json

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import MappingType, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.search import loma
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory


def problems() -> list[SpatialProblem]:
    """A product that divides and a convolution that does not, on three levels of memory."""
    shared = memory("shared", size=4096, served="D1")
    doubled = copy_with(shared, {"instance": copy_with(shared.instance, {"double_buffered": True})})
    small = memory("register", size=64, operands="I2")
    sides = {"D1": 4, "D2": 2}
    tops = memory("top", served="D1 D2", width=16)
    product = mapped(
        matmul(k=8, c=12), machine(small, shared, tops, sides=sides), {"D1": "K 4", "D2": "C 2"}
    )
    window = convolution({"K": 7, "C": 4, "OX": 6, "FX": 3}, "ix=2*ox+1*fx")
    return [
        product,
        mapped(window, machine(small, doubled, tops, sides=sides), {"D1": "K 4", "D2": "OX 2"}),
    ]


def numbers() -> list[str]:
    """All costs in hexadecimal, the first mapping of each batch in full, and the failures."""
    result: list[str] = []
    for spatial in problems():
        for mapping_type in MappingType:
            for mappings in loma(spatial, 4, mapping_type):
                batch = evaluate_batch(mappings)
                for column in (batch.energy, batch.latency0, batch.latency1, batch.latency2):
                    result += [value.hex() for value in column.tolist()]
                if len(batch):
                    result.append(evaluate(spatial, mappings.row(0)).model_dump_json())
                result.append(batch.statistics.model_dump_json())
    return result


if __name__ == "__main__":
    print(json.dumps(numbers()))
