"""The cells of extents, which a bound of all tile sizes walks over."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from nestmap.search.fusion.cells import cells_of

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
