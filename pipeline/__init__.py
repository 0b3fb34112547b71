"""How data flows: stage graph, front ends, stages, explorations, pages, commands."""

from nestmap.pipeline.stage_graph import MainStage as MainStage
from nestmap.pipeline.stage_graph import Stage as Stage
from nestmap.pipeline.stage_graph import each as each
from nestmap.pipeline.stage_graph import stage as stage
