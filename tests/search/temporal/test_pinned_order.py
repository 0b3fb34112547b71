"""One order gets the memories that LOMA gives it among all others."""

import pytest

from nestmap.model import MappingType, SpatialProblem
from nestmap.search import loma
from nestmap.search.temporal.pinned import allocate_order
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.costmodel.sample import problems

UNEVEN = mapped(
    matmul(k=8, c=12, b=6),
    machine(memory("shared", size=256, served="D1"), memory("top", served="D1"), sides={"D1": 1}),
    {},
)
"""Where the operands do better with cuts of their own."""


@pytest.mark.parametrize("spatial", [*problems(), UNEVEN])
def test_every_order_as_among_all(spatial: SpatialProblem) -> None:
    for batch in loma(spatial, 4, MappingType.UNEVEN):
        for i in range(len(batch)):
            alone = allocate_order(spatial, batch.row(i).order)
            assert [alone.row(j) for j in range(len(alone))] == [batch.row(i)]


def test_what_is_too_small_is_said() -> None:
    tight = machine(memory("tiny", size=1), memory("top", served="D1"), sides={"D1": 1})
    spatial = mapped(matmul(k=2, c=2), tight, {})
    free = mapped(matmul(k=2, c=2), machine(memory("top", served="D1"), sides={"D1": 1}), {})
    order = next(loma(free, None, MappingType.UNEVEN)).row(0).order
    none = allocate_order(spatial, order)
    assert len(none) == 0
    (reason,) = none.statistics.infeasible
    assert (reason.count, reason.reason.split()[0]) == (1, "tiny")
