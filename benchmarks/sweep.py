"""What sweeps take: CPU of one more design of ResNet-50, and of many designs at random.

Run ``python -m benchmarks.sweep``; ``--designs N`` sets how many (20). One more design is that of
an array with other rows than the ones before, in a process whose kernels are loaded: without and
with a store, and by module, from a profile (in which Python takes longer, and kernels do not).
Designs of both parts are explored again by ``nestmap.explore`` with equal figures.
"""

import argparse
import cProfile
import os
import pstats
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final, cast, final

import nestmap
from nestmap import SweepResult
from nestmap.pipeline.sweep.explore_designs import DesignPoints

Space = Mapping[str, object]

NETWORK: Final = "light:resnet50"
MAPPINGS: Final = 3
FIRST: Final = [32, 16]
MORE: Final = [24, 28, 20]
WANTED: Final = 1_000
"""The number of designs that the second part is extrapolated to."""

GROUPS: Final = (
    ("pydantic", ("pydantic",)),
    ("YAML", ("yaml",)),
    ("store", ("duckdb", "pyarrow", "/store/", "/explore/record", "/explore/keys")),
    ("exact search", ("/search/temporal/exact/",)),
    ("spatial mappings", ("/search/spatial/",)),
    ("cost model", ("/costmodel/",)),
    ("models", ("/nestmap/model/",)),
    ("NumPy", ("numpy",)),
)
"""What the functions of a profile belong to, by parts of their paths or names; the first fits."""


@final
class Clock:
    """The CPU seconds of each design."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last = 0.0

    def start(self, designs: int) -> None:
        self._last = time.process_time()

    def recalled(self, points: DesignPoints, front: int) -> None:
        self.explored(points, front)

    def explored(self, points: DesignPoints, front: int) -> None:
        now = time.process_time()
        self.seconds.append(now - self._last)
        self._last = now


def arrays(rows: list[int]) -> Space:
    """The TPU-like accelerator with other rows."""
    return {
        "name": "arrays",
        "accelerator": "tpu_like",
        "parameters": {"rows": rows},
        "set": {"operational_array.sizes[1]": "rows"},
        "networks": [NETWORK],
    }


def large() -> Space:
    """Arrays of 8 to 64 by 8 to 64 units and two memories of seven sizes: 3,136 designs."""
    return {
        "name": "large",
        "accelerator": "edge_22nm",
        "parameters": {
            "rows": {"from": 8, "to": 64, "step": 8},
            "columns": {"from": 8, "to": 64, "step": 8},
            "weights": {"from": 16, "to": 1024, "factor": 2},
            "activations": {"from": 32, "to": 2048, "factor": 2},
        },
        "set": {
            "operational_array.sizes[0]": "columns",
            "operational_array.sizes[1]": "rows",
            "memories.weights.size": "weights * 8192",
            "memories.activations.size": "activations * 8192",
        },
        "networks": [NETWORK],
    }


def swept(rows: list[int], store: Path | None, clock: Clock | None = None) -> SweepResult:
    """A sweep over arrays on one thread, mapped for energy."""
    return nestmap.sweep(
        arrays(rows),
        objective="energy",
        spatial_mappings=MAPPINGS,
        workers=1,
        store=store,
        progress=clock,
    )


def check(found: SweepResult, places: list[int], folder: Path) -> None:
    """Explores designs of a sweep by themselves, with equal figures."""
    for place in places:
        design = found.points[place]
        file = folder / f"{found.space.name}-{place}.yaml"
        file.write_text(found.accelerator_yaml(design), encoding="utf-8")
        alone = nestmap.explore(
            NETWORK, file, spatial_mappings=MAPPINGS, objective=design.mapped_for, workers=1
        )
        assert (alone.energy, alone.latency) == (design.energy, design.latency)


def one_more(folder: Path) -> None:
    """The CPU of designs after the first, without and with a store."""
    for name, store in (("without a store", None), ("with a store", folder / "runs.duckdb")):
        clock = Clock()
        found = swept([*FIRST, *MORE], store, clock)
        later = clock.seconds[1:]
        print(
            f"one more design {name}: {median(later):.2f} CPU s, the first {clock.seconds[0]:.2f}"
        )
        check(found, [len(FIRST)], folder)


def profiled(folder: Path) -> None:
    """The CPU of one more design by module."""
    for name, store in (("without a store", None), ("with a store", folder / "profile.duckdb")):
        swept(FIRST, store)
        profile = cProfile.Profile()
        profile.enable()
        swept([MORE[0]], store)
        profile.disable()
        print(f"by module, {name}: {shares(profile)}")


def shares(profile: cProfile.Profile) -> str:
    """The share of each group of functions in the profiled time."""
    rows = cast(
        "Mapping[tuple[str, int, str], tuple[int, int, float, float, object]]",
        vars(pstats.Stats(profile))["stats"],
    )
    total: defaultdict[str, float] = defaultdict(float)
    for (file, _, function), (_, _, own, _, _) in rows.items():
        where = f"{file} {function}"
        group = next((x for x, parts in GROUPS if any(y in where for y in parts)), "other")
        total[group] += own
    every = sum(total.values())
    groups = sorted(total.items(), key=lambda group: -group[1])
    return ", ".join(f"{name} {own / every:.0%}" for name, own in groups)


def many(designs: int, folder: Path) -> None:
    """Designs at random on all cores: time and memory, and what a thousand would take."""
    before, start = time.process_time(), time.perf_counter()
    found = nestmap.sweep(large(), strategy="random", objective="energy", designs=designs,
                         spatial_mappings=MAPPINGS)  # fmt: skip
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = WANTED / designs
    print(
        f"{designs:,} designs at random on {os.cpu_count()} cores: {wall:.1f} s, {cpu:.1f} CPU s, "
        f"peak {peak:,.0f} MiB; {WANTED:,} designs: {wall * times / 60:.1f} min, "
        f"{cpu * times / 60:.1f} CPU min"
    )
    feasible = [n for n, x in enumerate(found.points) if x.is_feasible]
    check(found, feasible[:1], folder)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=20)
    designs: int = parser.parse_args().designs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many(designs, folder)  # first: its peak of memory is that of the process
        one_more(folder)
        profiled(folder)


if __name__ == "__main__":
    main()
