"""The whole command on a real network: wall and CPU time, peak memory; the start of the help."""

import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

NESTMAP = str(Path(sys.executable).with_name("nestmap"))


def main() -> None:
    """Prints a row a command: seconds, CPU seconds, peak MB."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "bench.duckdb")
        loma = ["--search", "loma", "--store", store]
        explore = [NESTMAP, "explore", "light:resnet50", "-a", "tpu_like", *loma]
        _run("warm-up (compiles if new)", explore)
        _run("explore light:resnet50 -a tpu_like (lpf 6)", explore)
        _run("explore light:squeezenet -a tpu_like --lpf-limit 8", [
            NESTMAP, "explore", "light:squeezenet", "-a", "tpu_like", "--lpf-limit", "8",
            *loma,
        ])  # fmt: skip
        _run("--help", [NESTMAP, "--help"])
        _run("--help", [NESTMAP, "--help"])


def _run(name: str, command: list[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name}: {seconds:.2f} s, {cpu:.2f} CPU s, peak so far {after.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
