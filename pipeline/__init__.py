"""How it all flows: the stage graph, the stages, the parsers, the facade, the command line."""

from nestmap.pipeline.stage_graph import MainStage as MainStage
from nestmap.pipeline.stage_graph import Stage as Stage
from nestmap.pipeline.stage_graph import each as each
from nestmap.pipeline.stage_graph import stage as stage
