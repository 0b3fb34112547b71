"""The study in the documents: its commands run at small size, and its table is what is found."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final, cast

import pytest
import yaml

import nestmap
from nestmap import SweepResult
from nestmap.pipeline.sweep.choice.choice import ChosenDesigns, choose_designs
from nestmap.pipeline.sweep.options import Strategy
from nestmap.pipeline.sweep.space.checked_space import check_space, located_space
from tests.docs.blocks import ROOT, Block, blocks_of, commands_of
from tests.pipeline.cli.inputs import LAYER, run

PAGE: Final = ROOT / "docs" / "study.md"
SPACE: Final = "one-area.yaml"
SMALLER: Final = {
    "light:resnet50": "small.yaml",
    "bert-base-block": "other.yaml",
    "llama-7b-decode-block": "decode.yaml",
    "[16, 32, 64]": "[4, 8]",
    "{from: 16, to: 1024, factor: 2}": "{from: 1, to: 2, factor: 2}",
    "{from: 32, to: 1024, factor: 2}": "{from: 1, to: 8, factor: 2}",
    "area >= 1.2": "area >= 0.01",
}
"""What the page says, and what the test runs instead."""

NETWORKS: Final = {
    "small.yaml": LAYER % (0, "conv", "4, 16, 8", 0, 0),
    "other.yaml": LAYER % (0, "product", "4, 24, 8", 0, 0),
    "decode.yaml": LAYER % (0, "token", "1, 32, 16", 0, 0),
}
ROW: Final = re.compile(
    r"\| (\d+), [^|]* \| (\d+) x (\d+) \| (\d+) KiB \| (\d+) KiB \| ([\d.]+) mm² \| (.*) \|"
)
"""A row of the table: design, rows and columns, both memories, area, EDPs."""


def blocks() -> tuple[Block, ...]:
    return blocks_of(PAGE)


def write_files() -> None:
    """The files of the page as they stand there."""
    for block in blocks():
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")


@pytest.mark.stress
def test_its_commands_run_at_small_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep for the worst network finds the design that loses least on any network."""
    monkeypatch.chdir(tmp_path)
    write_files()
    text = Path(SPACE).read_text(encoding="utf-8")
    for found, instead in SMALLER.items():
        assert found in text
        text = text.replace(found, instead)
    Path(SPACE).write_text(text, encoding="utf-8")
    for name, network in NETWORKS.items():
        Path(name).write_text(network, encoding="utf-8")
    module = ModuleType("study")
    monkeypatch.setitem(sys.modules, "study", module)
    for block in blocks():
        if block.language == "console":
            for command in commands_of(block):
                ended = run(*command.arguments[1:])
                assert ended.code == 0, ended.err
        elif block.language == "python":
            exec(compile(block.text, PAGE.name, "exec"), vars(module))
    products = cast("list[list[float]]", vars(module)["products"])
    least = cast("list[float]", vars(module)["least"])
    robust = cast(SweepResult, vars(module)["found"])
    losses = [max(x / y for x, y in zip(row, least, strict=True)) for row in products]
    assert len(losses) == len(robust.points) > 20
    for design, loss in zip(robust.points, losses, strict=True):
        assert design.edp == pytest.approx(loss, rel=1e-12)
    assert robust.best("edp").edp == pytest.approx(min(losses), rel=1e-12)
    figures = {x.name for x in Path("figures").iterdir()}
    assert figures == {"designs.png", "parameters.png", "parallel.png", "importance.png"}


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The space of the page, in a folder with its files."""
    monkeypatch.chdir(tmp_path)
    write_files()
    found: dict[str, object] = yaml.safe_load(Path(SPACE).read_text(encoding="utf-8"))
    return found


def test_the_table_names_designs_of_the_space(full: dict[str, object]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    checked = check_space(located_space(SPACE))
    chosen = choose_designs(checked, Strategy.GRID, None, 0)
    assert isinstance(chosen, ChosenDesigns)
    assert f"Of {checked.settings.space.size} designs, {len(chosen.designs)} fill the area." in page
    known = {x.number: x for x in chosen.designs}
    rows = ROW.findall(page)
    assert len(rows) == 5
    for number, tall, wide, weights, activations, area, _ in rows:
        design = known[int(number)]
        assert list(design.values.values()) == list(map(int, (tall, wide, weights, activations)))
        quantities = checked.quantities(design)
        assert quantities["area"] == pytest.approx(float(area), abs=0.005)


def test_its_figures_are_found_again(full: dict[str, object]) -> None:
    """Those of Llama, whose block has few layers: an EDP for each design of the table."""
    rows = {int(x[0]): x for x in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    shown = {number: float(row[-1].split(" | ")[-1]) for number, row in rows.items()}
    networks = cast("list[object]", full["networks"])
    best, other = 339, 362
    products: dict[int, float] = {}
    for number in (best, other):
        _, *values = map(int, rows[number][:5])
        names = ("rows", "columns", "weight_kib", "activation_kib")
        alone = full | {
            "networks": networks[2:],
            "parameters": {name: [x] for name, x in zip(names, values, strict=True)},
        }
        found = nestmap.sweep(alone, spatial_mappings=3, objective="edp").points[0]
        products[number] = found.edp or 0.0
    assert products[other] / products[best] == pytest.approx(shown[other], abs=0.0005)
