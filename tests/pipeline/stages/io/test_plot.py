"""Stages that draw: they pass everything on, and their figures are in the folder."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import assert_type

import pytest
from pydantic import ValidationError

from nestmap.model import EvaluationBatch, InputError, NetworkEvaluation, NetworkProblem
from nestmap.model.base import copy_with
from nestmap.pipeline import Stage, each
from nestmap.pipeline.describe import describe
from nestmap.pipeline.stages import (
    CostModelStage,
    FlattenStage,
    LomaStage,
    MinimalEnergyStage,
    PlotTemporalMappingsStage,
    SpatialMappingGeneratorStage,
    SumStage,
    VisualizationStage,
    WorkloadStage,
)
from nestmap.pipeline.util import extras as needs_module
from tests.pipeline.networks import PROBLEM
from tests.pipeline.render.samples import machine, network

Reduced = Stage[Iterable[EvaluationBatch], EvaluationBatch]

BEST = MinimalEnergyStage()
ORDERS = LomaStage(lpf_limit=4) >> each(CostModelStage())
SPATIAL = SpatialMappingGeneratorStage(max_mappings=2)


def whole(reduced: Reduced) -> Stage[NetworkProblem, NetworkEvaluation]:
    """An exploration that reduces all mappings of a layer at once."""
    layer = SPATIAL >> each(ORDERS) >> FlattenStage[EvaluationBatch]() >> reduced
    return WorkloadStage() >> each(layer) >> SumStage()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_passes_is_drawn_and_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    drawn = PlotTemporalMappingsStage(folder=folder) >> BEST
    assert_type(drawn, Stage[Iterable[EvaluationBatch], EvaluationBatch])
    assert whole(drawn)(PROBLEM) == whole(BEST)(PROBLEM)
    assert names(folder) == ["first.png", "second.png"]
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names(folder))


def test_each_stream_has_a_file(tmp_path: Path) -> None:
    per_mapping = ORDERS >> PlotTemporalMappingsStage(folder=tmp_path, ending=".svg") >> BEST
    layer = SPATIAL >> each(per_mapping, workers=2) >> BEST
    (WorkloadStage() >> each(layer) >> SumStage())(PROBLEM)
    assert names(tmp_path) == ["first-2.svg", "first.svg", "second-2.svg", "second.svg"]


def test_mappings_are_passed_on_one_at_a_time(tmp_path: Path) -> None:
    seen: list[int] = []

    def batches() -> Iterator[EvaluationBatch]:
        for i, batch in enumerate(found):
            seen.append(i)
            yield batch

    (problem, *_) = WorkloadStage()(PROBLEM)
    found = [batch for spatial in SPATIAL(problem) for batch in ORDERS(spatial)]
    stream = PlotTemporalMappingsStage(folder=tmp_path)(batches())
    assert seen == []
    assert next(stream) is found[0]
    assert seen == [0]
    assert list(stream) == found[1:]


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    assert list(PlotTemporalMappingsStage(folder=folder)([])) == []
    assert not folder.exists()


def test_names_of_files_are_harmless(tmp_path: Path) -> None:
    (first, *_) = WorkloadStage()(PROBLEM)
    problem = copy_with(first, {"layer": copy_with(first.layer, {"name": "../$a b"})})
    stream = (x for spatial in SPATIAL(problem) for x in ORDERS(spatial))
    list(PlotTemporalMappingsStage(folder=tmp_path / "in")(stream))
    assert names(tmp_path) == ["in"]
    assert names(tmp_path / "in") == ["__a_b.png"]


def test_figures_of_a_network(tmp_path: Path) -> None:
    stage = VisualizationStage(folder=tmp_path / "figures", ending=".svg")
    assert_type(SumStage() >> stage, Stage[Iterable[EvaluationBatch], NetworkEvaluation])
    evaluation = network(("a/b", "a b"))
    for _ in range(2):
        assert stage(evaluation) is evaluation
        assert names(tmp_path / "figures") == [
            "energy.svg", "latency.svg", "loops-a_b-2.svg", "loops-a_b.svg", "memories.svg",
            "utilization.svg",
        ]  # fmt: skip


def test_with_the_accelerator_there_is_more(tmp_path: Path) -> None:
    VisualizationStage(folder=tmp_path, accelerator=machine("tpu_like"))(network(("a",)))
    assert {"accelerator.png", "roofline.png", "loops-a.png"} < set(names(tmp_path))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(InputError, match="File exists"):
        VisualizationStage(folder=path)(network(("a",)))
    (problem, *_) = WorkloadStage()(PROBLEM)
    stream = (x for spatial in SPATIAL(problem) for x in ORDERS(spatial))
    with pytest.raises(InputError, match="File exists"):
        list(PlotTemporalMappingsStage(folder=path)(stream))


def test_without_vl_convert_a_pipeline_is_not_even_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nothing(name: str) -> None:
        assert name == "vl_convert"

    monkeypatch.setattr(needs_module, "find_spec", nothing)
    with pytest.raises(InputError, match="no vl-convert-python"):
        VisualizationStage(folder=tmp_path)
    with pytest.raises(InputError, match="no vl-convert-python"):
        PlotTemporalMappingsStage(folder=tmp_path)


def test_options_are_checked_and_shown(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        VisualizationStage.model_validate({"folder": tmp_path, "ending": ".jpg"})
    (shown,) = describe(PlotTemporalMappingsStage(folder=Path("figures")))
    assert shown.name == "PlotTemporalMappingsStage"
    assert shown.options == '{"folder":"figures","ending":".png"}'
