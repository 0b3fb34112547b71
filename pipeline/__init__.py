"""How it all flows: the stage graph, the stages, the parsers, the facade, the command line."""

from nestmap.pipeline.stage import MainStage as MainStage
from nestmap.pipeline.stage import Stage as Stage
from nestmap.pipeline.stage import each as each
from nestmap.pipeline.stage import stage as stage
