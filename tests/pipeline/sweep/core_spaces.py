"""A small design space of accelerators with several cores, beside the files that it names."""

from pathlib import Path
from typing import Final

from tests.pipeline.cli.inputs import LAYER, NETWORK

CORE: Final = """\
name: lane
operational_array: {dimensions: [D1], sizes: [2], unit_energy: 0.5, unit_area: 1}
memories:
  reg:
    operands: [O]
    served_dimensions: []
    size: 16
    r_cost: 0.1
    w_cost: 0.1
    area: 0
    ports:
      - {name: r, type: read, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, tl", "O, th"]}
      - {name: w, type: write, bandwidth_min: 8, bandwidth_max: 16, allocation: ["O, fl", "O, fh"]}
  buffer:
    operands: [I1, I2, O]
    served_dimensions: [D1]
    size: 8192
    r_cost: 10
    w_cost: 12
    area: 3
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
"""

OFFCHIP: Final = """\
name: dram
type: offchip
memories:
  dram:
    operands: [I1, I2, O]
    served_dimensions: []
    size: 1000000
    r_cost: 100
    w_cost: 120
    area: 50
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
"""

MACHINE: Final = """\
name: duo
cores: {0: lane.yaml, 1: lane.yaml, 2: far.yaml}
offchip_core_id: 2
core_coordinates: {0: [0, 0], 1: [1, 0]}
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 16, energy_per_bit: 0.2}
  - {type: bus, cores: [0, 1, 2], bandwidth: 32}
"""

MAPPING: Final = """\
- name: default
  inter_core_tiling: ["B, 3"]
"""

SPACE: Final = """\
name: cores
accelerator: duo.yaml
mapping: split.yaml
parameters:
  lanes: [1, 2]
  wires: [8, 32]
  is_dual: [true, false]
set:
  cores.lane.operational_array.sizes[0]: lanes
  core_connectivity[1].bandwidth: wires
when:
  cores.1: is_dual
networks:
  - net.yaml
  - {network: other.yaml, weight: 2.5}
objectives: [energy, latency, area]
"""

REPEATED: Final = """\
name: many
cores: {0: lane.yaml, 1: far.yaml}
offchip_core_id: 1
copies: {0: 1}
core_connectivity:
  - {type: mesh, cores: [0], columns: 1, bandwidth: 16, energy_per_bit: 0.2}
  - {type: bus, cores: [0, 1], bandwidth: 32}
"""

COUNTS: Final = """\
name: counts
accelerator: many.yaml
mapping: split.yaml
parameters:
  count: [1, 2, 4]
  columns: ceil(count / 2)
set:
  copies.0: count
  core_connectivity[0].columns: columns
networks: [net.yaml]
objectives: [latency, area]
"""

OTHER: Final = LAYER % (0, "only", "3, 8, 5", 0, 0)


def write_core_space(folder: Path, text: str = SPACE) -> Path:
    """The space, with the files it names."""
    files = {
        "duo": MACHINE,
        "many": REPEATED,
        "lane": CORE,
        "far": OFFCHIP,
        "split": MAPPING,
        "net": NETWORK,
        "other": OTHER,
        "space": text,
    }
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(content)
    return folder / "space.yaml"
