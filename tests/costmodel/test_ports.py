"""Transfers say the same of themselves in Python and in kernels."""

import pytest

from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.ports import port_transfers
from nestmap.costmodel.transfers import link_of
from nestmap.model import SpatialProblem
from tests.costmodel.sample import problems


@pytest.mark.parametrize("spatial", problems())
def test_the_link_of_a_transfer_is_that_of_the_kernel(spatial: SpatialProblem) -> None:
    flat, transfers = flatten(spatial), port_transfers(spatial.problem)
    links = [transfer.link for transfer in transfers]
    assert links == [link_of(flat, t) for t in range(len(transfers))]
    places = list(zip((transfer.operand for transfer in transfers), links, strict=True))
    for (x, link), t in zip(places, range(len(transfers)), strict=True):
        count = int(flat.link_transfers[x, link])
        assert count == places.count((x, link))
        assert t in flat.link_transfer[x, link, :count]
