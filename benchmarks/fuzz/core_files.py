"""Accelerators of several cores with random faults: a network is scheduled on each, or refused."""

import math
import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.faults.test_bad_stream import CORE, MACHINE
from tests.pipeline.cli.test_split import TWO

from benchmarks.fuzz.changed_yaml import changed
from benchmarks.fuzz.harness import Case
from nestmap import stream, stream_plan

_MAPPING: Final = """\
- name: default
  core_allocation: [0, 1]
- name: first
  core_allocation: [1]
  memory_operand_links: {O: O, W: I2, I: I1}
"""


@contextmanager
def begin(folder: Path) -> Generator[Case]:
    """Schedules two layers on two cores, one or two of their files changed."""
    seeds = {"pair.yaml": MACHINE, "small.yaml": CORE, "net.yaml": TWO, "map.yaml": _MAPPING}
    plan = stream_plan(lpf_limit=2, individuals=4, generations=1)

    def case(draw: random.Random) -> str:
        files = dict(seeds)
        for name in set(draw.choices(list(files), (6, 3, 1, 2), k=draw.choice((1, 1, 2)))):
            files[name] = changed(draw, files[name])
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        network, cores, mapping = (folder / x for x in ("net.yaml", "pair.yaml", "map.yaml"))
        found = stream(network, cores, mapping, plan=plan, workers=1)
        assert math.isfinite(found.energy)
        assert found.latency >= 0
        return "scheduled"

    yield case
