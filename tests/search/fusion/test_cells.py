"""The cells of extents, which a bound of all tile sizes walks over."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record
from nestmap.model import MappingProblem
from nestmap.search.fusion.cells import Relaxed, cells_of, least_in_tiles, least_of_rows
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from tests.strategies import mapping_problems
from tests.sweeps import some_of

LOOPS = st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=3)


@given(loops=LOOPS, ratio=st.sampled_from([1.2, 2.0, 3.0]))
@example(loops=[(1, True), (1, False)], ratio=2.0)
@example(loops=[(1, True)], ratio=2.0)
def test_cells_hold_every_extent_once(loops: list[tuple[int, bool]], ratio: float) -> None:
    """Those of loops that are not cut are the products of their primes, as in the exact search."""
    sizes = np.array([float(size) for size, _ in loops])
    cells = cells_of(sizes, np.array([cut for _, cut in loops]), ratio)
    for d, (size, cut) in enumerate(loops):
        found = sorted(set(zip(cells.least[:, d].tolist(), cells.most[:, d].tolist(), strict=True)))
        least, most = zip(*found, strict=True)
        if cut:
            assert (*least, float(size)) == (0.0, *most)
            assert all(high <= max(low + 1, ratio * low) for low, high in found)
        else:
            assert least == most == tuple(x for x in range(1, size + 1) if size % x == 0)


@given(problem=mapping_problems(2**10), data=st.data(), ratio=st.sampled_from([1.3, 2.0]))
@settings(max_examples=some_of(150), deadline=None)
def test_operands_on_their_own_spend_no_more_than_on_a_path(
    problem: MappingProblem, data: st.DataObject, ratio: float
) -> None:
    """The bound of many spatial mappings is never above that of each."""
    layer, rows = problem.layer, all_spatial_mappings(problem)
    outputs = {d for x in layer.output.indices for d in x.dimensions}
    levels = [len(problem.levels(x.name)) for x in layer.operands]
    pairs = [x for y in layer.operands for x in y.indices if len(x.terms) > 1]
    relaxed = Relaxed(
        np.array([data.draw(st.integers(1, most)) for most in levels]),
        np.ones(len(levels)),
        np.zeros(max(1, len(pairs))),
        np.array([d in outputs and data.draw(st.booleans()) for d in layer.sizes]),
    )
    least = least_of_rows(flatten_problem(problem), rows.table, relaxed, ratio)
    for row in range(0, len(rows), max(1, len(rows) // 8)):
        flat, sizes = copy_record(rows.flat(row)), rows.temporal_sizes(row).astype(np.float64)
        flat.views, flat.computation, flat.leakage = 1, 0.0, 0.0
        flat.held[:] = 0
        assert least[row] <= least_in_tiles(flat, sizes, relaxed, ratio) * (1 + 1e-9)
