"""Registers the notebook views of all classes that have one."""

from __future__ import annotations

from nestmap.model.display import view
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.evaluation.front import LayerFront, NetworkFront
from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.search_result import AllocationSearch
from nestmap.model.workload.graph import Workload
from nestmap.model.workload.layer import Layer
from nestmap.pipeline.render.notebook.accelerator import accelerator_html
from nestmap.pipeline.render.notebook.evaluation import evaluation_html, result_html
from nestmap.pipeline.render.notebook.mapping import spatial_html, temporal_html
from nestmap.pipeline.render.notebook.network import (
    layer_front_html,
    network_front_html,
    network_html,
)
from nestmap.pipeline.render.notebook.pipeline import main_html, pipeline_html
from nestmap.pipeline.render.notebook.query_result import relation_html
from nestmap.pipeline.render.notebook.run import run_html
from nestmap.pipeline.render.notebook.schedule import schedule_html, search_html
from nestmap.pipeline.render.notebook.workload import layer_html, workload_html
from nestmap.pipeline.stage_graph import MainStage, Stage
from nestmap.store import Relation, RunRecord

view.register(Workload, workload_html)
view.register(Layer, layer_html)
view.register(Accelerator, accelerator_html)
view.register(SpatialMapping, spatial_html)
view.register(TemporalMapping, temporal_html)
view.register(CostModelEvaluation, evaluation_html)
view.register(LayerResult, result_html)
view.register(NetworkEvaluation, network_html)
view.register(LayerFront, layer_front_html)
view.register(NetworkFront, network_front_html)
view.register(Schedule, schedule_html)
view.register(AllocationSearch, search_html)
view.register(Relation, relation_html)
view.register(RunRecord, run_html)
view.register(Stage, pipeline_html)
view.register(MainStage, main_html)
