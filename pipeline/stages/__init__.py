"""The stages under the names that users of ZigZag know."""

from nestmap.pipeline.stages.explore import CostModelStage as CostModelStage
from nestmap.pipeline.stages.explore import LomaStage as LomaStage
from nestmap.pipeline.stages.explore import (
    SpatialMappingConversionStage as SpatialMappingConversionStage,
)
from nestmap.pipeline.stages.explore import WorkloadStage as WorkloadStage
from nestmap.pipeline.stages.reduce import ListifyStage as ListifyStage
from nestmap.pipeline.stages.reduce import MinimalEDPStage as MinimalEDPStage
from nestmap.pipeline.stages.reduce import MinimalEnergyStage as MinimalEnergyStage
from nestmap.pipeline.stages.reduce import MinimalLatencyStage as MinimalLatencyStage
from nestmap.pipeline.stages.reduce import SumStage as SumStage
from nestmap.pipeline.stages.reduce import minimal as minimal
