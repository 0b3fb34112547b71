"""Shows a pipeline as nested lists: stages, their options, inner stages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, Never, cast

from nestmap.pipeline.describe import StageDescription, describe
from nestmap.pipeline.render.notebook.markup import container, text
from nestmap.pipeline.stage_graph import MainStage, Stage

_LONGEST: Final = 200


def pipeline_html(pipeline: Stage[Never, object]) -> str:
    """The stages in sequence; the inner stages that run on each item are indented."""
    return container(_list(describe(pipeline)))


def main_html(main: MainStage[Never, object]) -> str:
    """The stages of its pipeline."""
    return pipeline_html(main.pipeline)


def _list(stages: Sequence[StageDescription]) -> str:
    items = "".join(f"<li>{_stage(stage)}</li>" for stage in stages)
    return f"<ol>{items}</ol>"


def _stage(stage: StageDescription) -> str:
    options = f" {text(_options(stage.options))}" if stage.options != "{}" else ""
    inner = _list(stage.inner) if stage.inner else ""
    return f"<code>{text(stage.name)}</code>{options}{inner}"


def _options(given: str) -> str:
    """The options of a stage that are set: ``lpf_limit 6, workers 2``."""
    options = cast("dict[str, object]", json.loads(given))
    said = (f"{name} {_value(value)}" for name, value in options.items() if value is not None)
    line = ", ".join(said)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
