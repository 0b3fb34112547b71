"""A small design space as a file beside a tiny machine and a tiny network."""

from pathlib import Path
from typing import Final

from nestmap import SweepResult
from nestmap.model.design_space.result import DesignResult
from tests.pipeline.cli.inputs import LAYER, written

SPACE: Final = """\
name: small
accelerator: tiny.yaml
parameters:
  lanes: [1, 2, 4]
  words: {from: 2, to: 8, factor: 2}
  bits: words * 8
  has_outlet: [true, false]
set:
  operational_array.sizes[0]: lanes
  memories.outlet.size: bits
when:
  outlet: has_outlet
networks:
  - net.yaml
  - {network: other.yaml, weight: 2.5}
objectives: [energy, latency]
"""

OTHER: Final = LAYER % (0, "only", "3, 8, 5", 0, 0)
"""A network with a layer that the first one has, too."""


def mapped_first(found: SweepResult) -> list[DesignResult]:
    """Each design once, mapped for the first objective."""
    return [x for x in found.points if x.mapped_for is found.mapped_for[0]]


def write_space(folder: Path, text: str = SPACE) -> Path:
    """The space, with the files it names."""

    written(folder)
    (folder / "other.yaml").write_text(OTHER)
    file = folder / "space.yaml"
    file.write_text(text)
    return file
