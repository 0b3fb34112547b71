"""Runs a fuzzer and prints what became of its cases.

python -m benchmarks.fuzz yaml --cases 10000 --seed 0     counts by outcome, and all failures
python -m benchmarks.fuzz yaml --seed 0 --case 1234       one case again, in this process

It ends with 1 if a case failed: with a foreign exception, a crash, more than 1 GB, or more than 10
CPU s beside those of compiling.
"""

import argparse
import os
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.kernels import compile_kernels

from benchmarks.fuzz import core_files, http_requests, onnx_models, yaml_files
from benchmarks.fuzz.harness import Fuzzer, draw_of, run

FUZZERS: Final = {
    "onnx": Fuzzer("ONNX models that are parsed", onnx_models.begin),
    "yaml": Fuzzer("networks, accelerators and mappings that are explored", yaml_files.begin),
    "cores": Fuzzer("accelerators of several cores that are scheduled", core_files.begin),
    "http": Fuzzer("requests to the explorer", http_requests.begin),
}


def main() -> None:
    """Runs cases and prints what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer", choices=FUZZERS)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    asked = parser.parse_args()
    fuzzer = FUZZERS[asked.fuzzer]
    if asked.case is not None:
        _run_here(fuzzer, asked.seed, asked.case)
    elif _run_all(fuzzer, asked.seed, asked.cases):
        sys.exit(1)


def _run_here(fuzzer: Fuzzer, seed: int, case: int) -> None:
    """One case in this process, with its exception if there is one."""
    with TemporaryDirectory() as name:
        os.chdir(name)
        with fuzzer.begin(Path(name)) as run_case:
            print(run_case(draw_of(seed, case)))


def _run_all(fuzzer: Fuzzer, seed: int, cases: int) -> int:
    """The number of failures."""
    warnings.simplefilter("ignore")
    compile_kernels()  # else the first case hangs
    start, counts, failures = time.perf_counter(), Counter[str](), 0
    for case, outcome in run(fuzzer, seed, range(cases)):
        counts[outcome.kind] += 1
        if outcome.reason:
            failures += 1
            print(f"case {case}: {outcome.kind}: {outcome.reason}", flush=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{fuzzer.about}: {sum(counts.values())} cases of seed {seed} in {seconds:.0f} s")
    print(f"largest process {peak:.0f} MiB; failures {failures}")
    for kind, count in counts.most_common():
        print(f"{count:7d} {kind}")
    return failures


if __name__ == "__main__":
    main()
