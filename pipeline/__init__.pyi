from .stage_graph import MainStage as MainStage
from .stage_graph import Stage as Stage
from .stage_graph import each as each
from .stage_graph import stage as stage
