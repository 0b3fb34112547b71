"""The stages under the names that users of ZigZag know."""

from nestmap.pipeline.stages.anneal import SalsaStage as SalsaStage
from nestmap.pipeline.stages.bounded import BoundedSearchStage as BoundedSearchStage
from nestmap.pipeline.stages.bounded import RankByBoundStage as RankByBoundStage
from nestmap.pipeline.stages.explore import CostModelStage as CostModelStage
from nestmap.pipeline.stages.explore import LomaStage as LomaStage
from nestmap.pipeline.stages.explore import WorkloadStage as WorkloadStage
from nestmap.pipeline.stages.front import BestFirstStage as BestFirstStage
from nestmap.pipeline.stages.front import FrontSumStage as FrontSumStage
from nestmap.pipeline.stages.front import KBestStage as KBestStage
from nestmap.pipeline.stages.front import ParetoStage as ParetoStage
from nestmap.pipeline.stages.layer_splitting import LayerSplittingStage as LayerSplittingStage
from nestmap.pipeline.stages.locality import PinnedTopLevelsStage as PinnedTopLevelsStage
from nestmap.pipeline.stages.locality import RemoveUnusedMemoryStage as RemoveUnusedMemoryStage
from nestmap.pipeline.stages.locality import SearchUnusedMemoryStage as SearchUnusedMemoryStage
from nestmap.pipeline.stages.once import EachOnceStage as EachOnceStage
from nestmap.pipeline.stages.ordering import OrderedCandidatesStage as OrderedCandidatesStage
from nestmap.pipeline.stages.ordering import (
    TemporalOrderingConversionStage as TemporalOrderingConversionStage,
)
from nestmap.pipeline.stages.recall import RecallStage as RecallStage
from nestmap.pipeline.stages.reduce import FlattenStage as FlattenStage
from nestmap.pipeline.stages.reduce import ListifyStage as ListifyStage
from nestmap.pipeline.stages.reduce import MinimalEDPStage as MinimalEDPStage
from nestmap.pipeline.stages.reduce import MinimalEnergyStage as MinimalEnergyStage
from nestmap.pipeline.stages.reduce import MinimalLatencyStage as MinimalLatencyStage
from nestmap.pipeline.stages.reduce import SumStage as SumStage
from nestmap.pipeline.stages.reduce import minimal as minimal
from nestmap.pipeline.stages.save import DumpStage as DumpStage
from nestmap.pipeline.stages.save import LoadStage as LoadStage
from nestmap.pipeline.stages.save import PickleSaveStage as PickleSaveStage
from nestmap.pipeline.stages.spatial import (
    SpatialMappingConversionStage as SpatialMappingConversionStage,
)
from nestmap.pipeline.stages.spatial import (
    SpatialMappingGeneratorStage as SpatialMappingGeneratorStage,
)
from nestmap.pipeline.stages.stream import (
    GenerateCNWorkloadHybridStage as GenerateCNWorkloadHybridStage,
)
from nestmap.pipeline.stages.stream import (
    StreamONNXModelParserStage as StreamONNXModelParserStage,
)
from nestmap.pipeline.stages.stream import (
    UserDefinedModelParserStage as UserDefinedModelParserStage,
)
from nestmap.pipeline.stages.stream_options import split_options as split_options
from nestmap.pipeline.stages.vector import VectorStage as VectorStage
from nestmap.pipeline.stages.visualize import (
    PlotTemporalMappingsStage as PlotTemporalMappingsStage,
)
from nestmap.pipeline.stages.visualize import VisualizationStage as VisualizationStage
