"""How good the fronts of NSGA-II and TPE are beside those of designs at random.

Run ``python -m benchmarks.sweep_strategies``. All designs of three spaces are explored once; then
each strategy looks up an equal number of designs, for ten seeds. The hypervolume of its front is
given as a share of that of the whole space: of logarithms, because figures differ by orders of
magnitude, from the best figures of all designs to the worst.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import log
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple

from tests.quality.stream_fronts import Cost, hypervolume

import nestmap
from nestmap import SweepResult
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Design
from nestmap.pipeline.sweep.choice.choice import choose_designs
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.checked_space import check_space, located_space

SEEDS: Final = 10
DESIGNS: Final = 60

STRATEGIES: Final = (Strategy.RANDOM, Strategy.NSGA2, Strategy.TPE)

LAYERS: Final = """\
- id: 0
  name: convolution
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 96, 64, 28, 28, 3, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 0, I: 0}
- id: 1
  name: product
  operator_type: Gemm
  equation: O[b][k]+=W[k][c]*I[b][c]
  loop_dims: [B, K, C]
  loop_sizes: [16, 200, 384]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 1, I: 1}
"""


class Trial(NamedTuple):
    """A space, and how many of its designs are explored."""

    name: str
    changes: Mapping[str, object]
    designs: int


TRIALS: Final = (
    Trial(
        "rows and columns of tpu_like; latency, area",
        {
            "accelerator": "tpu_like",
            "parameters": {
                "rows": {"from": 2, "to": 48, "step": 2},
                "columns": {"from": 2, "to": 48, "step": 2},
            },
            "set": {"operational_array.sizes[0]": "columns", "operational_array.sizes[1]": "rows"},
            "objectives": ["latency", "area"],
        },
        DESIGNS,
    ),
    Trial(
        "rows and columns of eyeriss_like; energy, latency",
        {
            "accelerator": "eyeriss_like",
            "parameters": {
                "rows": {"from": 2, "to": 40, "step": 2},
                "columns": {"from": 2, "to": 40, "step": 2},
            },
            "set": {"operational_array.sizes[0]": "columns", "operational_array.sizes[1]": "rows"},
            "objectives": ["energy", "latency"],
        },
        DESIGNS,
    ),
    Trial(
        "array, buffer and width of DRAM of tpu_like; energy, latency",
        {
            "accelerator": "tpu_like",
            "parameters": {
                "side": {"from": 4, "to": 64, "step": 4},
                "kibibytes": {"from": 16, "to": 2048, "factor": 2},
                "width": [16, 32, 48, 64, 96, 128],
            },
            "set": {
                "operational_array.sizes[0]": "side",
                "operational_array.sizes[1]": "side",
                "memories.sram_2MB.size": "kibibytes * 8192",
                "memories.dram.ports[0].bandwidth_min": "width",
                "memories.dram.ports[0].bandwidth_max": "width",
            },
            "objectives": ["energy", "latency"],
        },
        DESIGNS,
    ),
)


def main() -> None:
    """Explores the spaces, and prints a table."""
    with tempfile.TemporaryDirectory() as folder:
        network = Path(folder) / "layers.yaml"
        network.write_text(LAYERS)
        print(
            "| space | designs | of | random | nsga2 | tpe |\n| --- | --- | --- | --- | --- | --- |"
        )
        for trial in TRIALS:
            space = {"name": "trial", "networks": [str(network)], **trial.changes}
            every = nestmap.sweep(space, spatial_mappings=1)
            shares = [f"{_share(space, every, trial.designs, x):.4f}" for x in STRATEGIES]
            cells = (trial.name, str(trial.designs), str(every.summary.designs), *shares)
            print(f"| {' | '.join(cells)} |", flush=True)


def _share(
    space: Mapping[str, object], every: SweepResult, designs: int, strategy: Strategy
) -> float:
    """The mean hypervolume of a strategy's fronts, as a share of that of all designs."""
    known: dict[int, list[DesignResult]] = {}
    for point in every.points:
        known.setdefault(point.number, []).append(point)

    def look_up(chosen: Sequence[Design]) -> Iterator[DesignPoints]:
        yield from (tuple(known[x.number]) for x in chosen)

    checked, whole = check_space(located_space(space)), _volume(every, every.points)
    return mean(
        _volume(every, tuple(chain.from_iterable(choice.explored(look_up)))) / whole
        for choice in (choose_designs(checked, strategy, designs, x) for x in range(SEEDS))
    )


def _volume(every: SweepResult, designs: Sequence[DesignResult]) -> float:
    """The hypervolume of some designs, from the best figures of all designs to the worst."""
    costs = _costs(every, every.points)
    best = Cost(min(x.energy for x in costs), min(x.latency for x in costs))
    worst = Cost(max(x.energy for x in costs), max(x.latency for x in costs))
    moved = [Cost(x.energy - best.energy, x.latency - best.latency) for x in _costs(every, designs)]
    return hypervolume(moved, Cost(worst.energy - best.energy, worst.latency - best.latency))


def _costs(every: SweepResult, designs: Sequence[DesignResult]) -> list[Cost]:
    """The logarithms of the two objectives of the designs that have figures."""
    first, second = every.space.objectives
    figures = ((x.figure(first), x.figure(second)) for x in designs)
    return [Cost(log(a), log(b)) for a, b in figures if a is not None and b is not None]


if __name__ == "__main__":
    main()
