"""Networks, accelerators and mappings in YAML with random faults: each is explored or refused."""

import math
import random
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.faults.checks import FILES

from benchmarks.fuzz.changed_yaml import changed
from benchmarks.fuzz.harness import Case
from nestmap import explore
from nestmap.pipeline.frontend.bundled import accelerator_names, default_mapping_for
from nestmap.pipeline.frontend.bundled import resolve_accelerator as accelerator_file

_WRONG: Final = "the sum of {} is {}"


@contextmanager
def begin(folder: Path) -> Generator[Case]:
    """Explores a small network on a tiny or a bundled accelerator, one to three files changed."""
    seeds = _seeds()

    def case(draw: random.Random) -> str:
        files = dict(draw.choice(seeds))
        for name in draw.sample(list(files), draw.choice((1, 1, 1, 2, 3))):
            files[name] = changed(draw, files[name])
        return _explored(folder, files)

    yield case


def _seeds() -> list[Mapping[str, str]]:
    """Three files each; the tiny accelerator as often as all others together."""
    seeds: list[Mapping[str, str]] = []
    for name in accelerator_names():
        mapping = default_mapping_for(name)
        assert mapping is not None
        given = {"accelerator": accelerator_file(name), "mapping": mapping}
        read = {key: path.read_text(encoding="utf-8") for key, path in given.items()}
        seeds += [FILES, FILES | read]
    return seeds


def _explored(folder: Path, files: Mapping[str, str]) -> str:
    paths = {name: folder / f"{name}.yaml" for name in files}
    for name, text in files.items():
        paths[name].write_text(text, encoding="utf-8")
    result = explore(
        paths["network"],
        paths["accelerator"],
        mapping=paths["mapping"],
        search="loma",
        lpf_limit=2,
        spatial_mappings=1,
    )
    for name, total in (("energy", result.energy), ("latency", result.latency)):
        assert math.isfinite(total), _WRONG.format(name, total)
        assert total >= 0, _WRONG.format(name, total)
    return "explored"
