"""The version of the searches goes up whenever they find something else, or in another order."""

from collections.abc import Iterable, Iterator
from typing import Final

from nestmap.model import (
    Counting,
    LayerConstraints,
    MappingBatch,
    MappingProblem,
    MappingType,
    MemoryLevel,
    MemoryPort,
    Objective,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.search import spatial_mappings
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.exact.effort import Effort
from nestmap.search.temporal.exact.equal_rows import equal_rows
from nestmap.search.temporal.exact.incumbents import Incumbents
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.walk import Walk
from nestmap.search.temporal.loma import loma
from nestmap.search.temporal.salsa import Annealing, salsa
from nestmap.search.version import VERSION
from tests.bundled import problems
from tests.digest import Figures, digest
from tests.search.temporal.exact.problems import Kind, seeded_problem
from tests.search.temporal.orderings import with_ordering

DIGESTS: Final[dict[int, tuple[str, ...]]] = {
    1: ("689af595784331d4", "9064a8e467c9c775"),
    2: ("2b328827bddcdf5f", "67e8219c3c8bfa7c", "6da749eb6b38c94a"),
    3: ("2b328827bddcdf5f", "67e8219c3c8bfa7c", "f6b3f02e78ae66d3"),
    4: ("2b328827bddcdf5f", "67e8219c3c8bfa7c", "f6b3f02e78ae66d3", "d0ca04b5a5f92dec"),
    5: ("6d7869c5dd9a21d2", "ba37eebf874cbbc4", "f6b3f02e78ae66d3", "25b1f4550f2e6b87"),
    6: (
        "6d7869c5dd9a21d2",
        "ba37eebf874cbbc4",
        "f6b3f02e78ae66d3",
        "25b1f4550f2e6b87",
        "92fc2f5aeb4da1ca",
    ),
    7: (
        "e3a44cea2a6d418f",
        "4338d222f3ba65f1",
        "f6b3f02e78ae66d3",
        "8054f22d2ce4eb0c",
        "92fc2f5aeb4da1ca",
        "82f64a003d49e64e",
    ),
    8: (
        "e3a44cea2a6d418f",
        "4338d222f3ba65f1",
        "f6b3f02e78ae66d3",
        "451006e003b9bc7c",
        "92fc2f5aeb4da1ca",
        "4bd4ae405e9acb03",
    ),
    9: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "0929b0661850783b",
        "5fed87673ad54ebd",
        "f1ab1e1e9c5b54ab",
    ),
    10: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "0929b0661850783b",
        "5fed87673ad54ebd",
        "f1ab1e1e9c5b54ab",
        "b5ee0b9290170e9f",
    ),
    11: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "535190a0315022b5",
        "5fed87673ad54ebd",
        "f1ab1e1e9c5b54ab",
        "b5ee0b9290170e9f",
    ),
    12: (
        "9e903f9d2c9cdbfa",
        "4a6ba5d1a2d80a66",
        "f6b3f02e78ae66d3",
        "a765ba7694bfbbbd",
        "5fed87673ad54ebd",
        "101b4cb31fd7fd24",
        "b5ee0b9290170e9f",
    ),
    13: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "535190a0315022b5",
        "5fed87673ad54ebd",
        "4b94fe9bd2a66f29",
        "b5ee0b9290170e9f",
    ),
    14: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "535190a0315022b5",
        "5fed87673ad54ebd",
        "31cc87caf45d9f79",
        "b5ee0b9290170e9f",
    ),
    15: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "306bbae8ddf1a575",
        "5fed87673ad54ebd",
        "eb08f0dcec09ba72",
        "b5ee0b9290170e9f",
    ),
    16: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "14f03af5236b43ce",
        "5fed87673ad54ebd",
        "eb08f0dcec09ba72",
        "b5ee0b9290170e9f",
    ),
    17: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "6aa49e0881e3d246",
        "5fed87673ad54ebd",
        "3f577fe861ff8e05",
        "b5ee0b9290170e9f",
    ),
    18: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "a4a0fddec102d507",
        "5fed87673ad54ebd",
        "1c932cf89d1663c9",
        "b5ee0b9290170e9f",
    ),
    19: (
        "a2802ffde8692594",
        "176f5b0586073c7b",
        "f6b3f02e78ae66d3",
        "9de2672a05642d37",
        "5fed87673ad54ebd",
        "547cff13fe5b605b",
        "b5ee0b9290170e9f",
    ),
}
"""What LOMA, SALSA, the spatial generator and, since 4, the exact search of each version find in
the sample; since 2 with the bounds they report, since 5 with the labels of the exact search. Since
6 with the spatial mappings that are the same problem, since 7 with those that the walk finds, since
10 with bounds where tiles are clipped, since 15 for latency, too, since 16 with even mappings of
the exact search."""

MEANT: Final = f"""
A search looks at other mappings than it did under version {VERSION}, or in another order, or gives
other reasons where nothing fits, or other bounds. If that is not meant, mend the search. If it is,
raise VERSION in search/version.py by one, so that stores do not reuse what they know, and add the
digests of today as those of the new version. If only the sample has changed (tests/bundled.py), put
them in place of the old ones."""


def seen(spatial: SpatialProblem, batches: Iterable[MappingBatch]) -> Iterator[Figures]:
    """All mappings of a search, one after the other, and what it says of those that do not fit."""
    for batch in batches:
        assert batch.problem is spatial
        loops = [str(x) for x in batch.factors]
        orders: list[list[int]] = batch.orders.tolist()
        yield [" ".join([loops[code] for code in order]) for order in orders]
        yield batch.cuts.tolist()
        yield batch.statistics.model_dump(mode="json")


def loma_figures() -> Iterator[Figures]:
    """All orders of a few loops, and of some more where an ordering leaves few open."""
    for spatial in problems():
        for mapping_type in MappingType:
            for limit in (4, 6):
                yield from seen(spatial, loma(spatial, limit, mapping_type))
        dimension = next(iter(spatial.temporal_sizes))
        for text in (f"{dimension} *", f"| {dimension} *"):
            ordered = with_ordering(spatial, text)
            yield from seen(ordered, loma(ordered, 4, MappingType.UNEVEN))


def salsa_figures() -> Iterator[Figures]:
    """Short walks for each objective, and all orders where there are few."""
    for spatial in problems():
        for seed, objective in enumerate(Objective):
            walk = Annealing(chains=2, iterations=40, start_temperature=0.2, seed=seed)
            for mapping_type in MappingType:
                found = salsa(spatial, objective, walk, mapping_type, workers=1)
                yield from seen(spatial, (batch.mappings for batch in found))


def spatial_figures() -> Iterator[Figures]:
    """Spatial mappings where the ports of all memories are a sixteenth as wide."""
    for spatial in problems():
        memories = tuple(
            copy_with(level, {"instance": copy_with(level.instance, {"ports": _narrow(level)})})
            for level in spatial.accelerator.memories
        )
        accelerator = copy_with(spatial.accelerator, {"memories": memories})
        problem = MappingProblem(layer=spatial.layer, accelerator=accelerator)
        yield [str(mapping) for mapping in spatial_mappings(problem, 3)]


def exact_figures() -> Iterator[Figures]:
    """The exact search for energy and for latency, with few labels."""
    for spatial in problems():
        for mapping_type in MappingType:
            for objective in (Objective.ENERGY, Objective.LATENCY):
                options = ExactOptions(labels=500, mapping_type=mapping_type)
                found = exact(SearchTask(spatial), objective, options)
                yield from seen(spatial, (batch.mappings for batch in found))


def candidate_figures() -> Iterator[Figures]:
    """Which of all spatial mappings the exact search goes through."""
    for spatial in problems():
        problem = copy_with(spatial.problem, {"constraints": LayerConstraints()})
        yield equal_rows(all_spatial_mappings(problem, mixed=True)).tolist()


def walk_figures() -> Iterator[Figures]:
    """Which spatial mappings the walk finds to improve, with few labels, and what it leaves."""
    options, work = ExactOptions(labels=500), 20_000
    for spatial in problems():
        problem = copy_with(spatial.problem, {"constraints": LayerConstraints()})
        candidates = all_spatial_mappings(problem)
        for objective in (*Objective, None):
            yield _walked(Walk(candidates, Incumbents(objective), options, Effort(work)))
    long = copy_with(problems()[8].problem, {"constraints": LayerConstraints()})
    known, effort = Incumbents(Objective.LATENCY), Effort(5 * work)
    yield _walked(Walk(all_spatial_mappings(long), known, options, effort))


def _walked(walk: Walk) -> Figures:
    return [list(walk.rows()), walk.unproven, walk.labels]


def bound_figures() -> Iterator[Figures]:
    """The bounds of two layers whose tiles are clipped, on machines with slow ports."""
    for kind, seed in ((Kind.LEAKING, 29), (Kind.FREE_SUMS, 696)):
        found = lower_bounds(seeded_problem(kind, seed, 400_000, Counting.EXACT).spatial)
        yield [found.energy, found.latency]


def _narrow(level: MemoryLevel) -> tuple[MemoryPort, ...]:
    ports = level.instance.ports
    return tuple(copy_with(x, {"width_max": max(x.width_min, x.width_max // 16)}) for x in ports)


def test_the_version_goes_up_when_a_search_finds_something_else() -> None:
    figures = loma_figures, salsa_figures, spatial_figures, exact_figures
    walks = candidate_figures, walk_figures, bound_figures
    found = tuple(digest(find()) for find in (*figures, *walks))
    assert found == DIGESTS.get(VERSION), MEANT


def test_every_version_finds_something_else() -> None:
    assert max(DIGESTS) == VERSION == len(DIGESTS) == len(set(DIGESTS.values()))
