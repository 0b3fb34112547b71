"""What it costs to keep every evaluation of a LOMA exploration, and what it saves the next time.

Run ``python -m benchmarks.recording [LPF_LIMIT] [NETWORK] [ACCELERATOR ...]``; without: AlexNet at
a limit of nine on four bundled machines, 1 to 1.6 million evaluations each. In one process and one
thread the same exploration without a store, recorded in full, with the best only, and recalled; CPU
time, the least of so many rounds; results asserted equal.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nestmap
from nestmap.model import NetworkEvaluation, Recording, RecordMode
from nestmap.store import Store

ROUNDS = 3
MACHINES = ("tpu_like", "eyeriss_like", "ascend_like", "edge_tpu_like")


def timed(explore: Callable[[], nestmap.Exploration]) -> tuple[float, NetworkEvaluation]:
    """CPU seconds of all threads, and the result."""
    start = time.process_time()
    found = explore()
    return time.process_time() - start, found.total


def compare(network: str, machine: str, limit: int, folder: Path) -> None:
    """Prints a line; all ways must find the same."""

    def explored(path: Path | None, recording: Recording | None = None) -> nestmap.Exploration:
        return nestmap.explore(
            network,
            machine,
            search="loma",
            lpf_limit=limit,
            workers=1,
            store=path,
            recording=recording,
        )

    least: dict[str, float] = dict.fromkeys(("none", "all", "best", "recalled"), float("inf"))
    results: list[NetworkEvaluation] = []
    for turn in range(ROUNDS):
        path, other = folder / f"{machine}-{turn}.duckdb", folder / f"{machine}-{turn}-best.duckdb"
        for store in (path, other):
            Store.open(store).close()  # its schema takes 0.15 s, once a file
        ways: dict[str, Callable[[], nestmap.Exploration]] = {
            "none": partial(explored, None),
            "all": partial(explored, path),
            "best": partial(explored, other, Recording(record=RecordMode.BEST)),
            "recalled": partial(explored, path),
        }
        for name, way in ways.items():
            seconds, total = timed(way)
            least[name] = min(least[name], seconds)
            results.append(total)
    assert all(total == results[0] for total in results)
    evaluations, size = results[0].evaluations, (folder / f"{machine}-0.duckdb").stat().st_size
    shares = ", ".join(f"{name} {least[name] / least['none']:.2f}" for name in list(least)[1:])
    print(
        f"{network} on {machine}: {evaluations:,} evaluations in {least['none']:.2f} CPU s; "
        f"of that: {shares}; {size / evaluations:.1f} bytes each"
    )


def main() -> None:
    """Compares on all machines."""
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    network = sys.argv[2] if len(sys.argv) > 2 else "light:alexnet"
    nestmap.explore(
        network, MACHINES[0], search="loma", lpf_limit=2, workers=1, store=Store.open(None)
    )  # compiles
    with tempfile.TemporaryDirectory() as folder:
        for machine in sys.argv[3:] or MACHINES:
            compare(network, machine, limit, Path(folder))


if __name__ == "__main__":
    main()
