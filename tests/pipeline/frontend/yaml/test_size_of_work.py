"""Reading takes work in proportion to what a file has: places are looked up once for all items."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from nestmap.pipeline.frontend.yaml.hardware.multicore import parse_multicore
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml

Values = dict[str, object]

FEW: Final = 20


def cores(connections: int) -> Values:
    """Cores with so many buses between them, each of which shares memory with itself."""
    return {
        "name": "many",
        "cores": {0: "tpu_like", 1: "tpu_like", 2: "offchip"},
        "offchip_core_id": 2,
        "core_connectivity": [{"type": "bus", "cores": [0, 1, 2], "bandwidth": 64}] * connections,
        "core_memory_sharing": [[0, 1]] * connections,
    }


def entries(number: int) -> list[Values]:
    """The entries of a mapping file."""
    return [{"name": f"l{i}", "spatial_mapping": {"D1": ["K, 4"]}} for i in range(number)]


def stream(layers: int) -> Values:
    """A mapping file of present Stream."""
    tiles = [{"dim": "l0.D1", "tile": 1}] * layers
    return {
        "layers": [{"name": f"l{i}", "inter_core_tiling": []} for i in range(layers)],
        "fused_groups": [{"name": "all", "layers": ["l0"], "intra_core_tiling": tiles}],
    }


def layers(number: int) -> list[Values]:
    """The layers of a workload, each of which reads what the one before writes."""
    return [
        {
            "id": i,
            "operator_type": "Gemm",
            "equation": "O[b][k]+=W[k][c]*I[b][c]",
            "loop_dims": ["B", "K", "C"],
            "loop_sizes": [2, 4, 4],
            "operand_precision": {"W": 8, "I": 8, "O": 16, "O_final": 8},
            "operand_source": {"I": max(i - 1, 0)},
        }
        for i in range(number)
    ]


@pytest.mark.parametrize(
    ("made", "parse"),
    [
        (cores, parse_multicore),
        (entries, parse_mapping),
        (stream, parse_core_mapping),
        (layers, parse_workload_yaml),
    ],
)
def test_twice_as_many_items_are_twice_the_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[int], object],
    parse: Callable[[Path], object],
) -> None:
    made_nodes = [0]
    sequence = Node.sequence

    def counted(node: Node, expected: str = "a list") -> tuple[Node, ...]:
        items = sequence(node, expected)
        made_nodes[0] += len(items)
        return items

    monkeypatch.setattr(Node, "sequence", counted)
    work = list[int]()
    for number in (FEW, 2 * FEW, 3 * FEW):
        file = tmp_path / "many.yaml"
        file.write_text(yaml.safe_dump(made(number), sort_keys=False))
        made_nodes[0] = 0
        parse(file)
        work.append(made_nodes[0])
    assert work[1] - work[0] == work[2] - work[1]
