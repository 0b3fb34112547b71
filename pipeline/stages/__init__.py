"""The stages; those that ZigZag or Stream also have keep their names."""

from nestmap.pipeline.stages.io.pickle import DumpStage as DumpStage
from nestmap.pipeline.stages.io.pickle import LoadStage as LoadStage
from nestmap.pipeline.stages.io.pickle import PickleSaveStage as PickleSaveStage
from nestmap.pipeline.stages.io.plot import PlotTemporalMappingsStage as PlotTemporalMappingsStage
from nestmap.pipeline.stages.io.plot import VisualizationStage as VisualizationStage
from nestmap.pipeline.stages.mapping.bounds import BoundedSearchStage as BoundedSearchStage
from nestmap.pipeline.stages.mapping.bounds import RankByBoundStage as RankByBoundStage
from nestmap.pipeline.stages.mapping.candidates import (
    AllSpatialMappingsStage as AllSpatialMappingsStage,
)
from nestmap.pipeline.stages.mapping.candidates import RankCandidatesStage as RankCandidatesStage
from nestmap.pipeline.stages.mapping.deduplicate import EachOnceStage as EachOnceStage
from nestmap.pipeline.stages.mapping.exact import ExactStage as ExactStage
from nestmap.pipeline.stages.mapping.exact import ExactWalkStage as ExactWalkStage
from nestmap.pipeline.stages.mapping.front import BestFirstStage as BestFirstStage
from nestmap.pipeline.stages.mapping.front import FrontSumStage as FrontSumStage
from nestmap.pipeline.stages.mapping.front import KBestStage as KBestStage
from nestmap.pipeline.stages.mapping.front import ParetoStage as ParetoStage
from nestmap.pipeline.stages.mapping.locality import PinnedTopLevelsStage as PinnedTopLevelsStage
from nestmap.pipeline.stages.mapping.locality import (
    RemoveUnusedMemoryStage as RemoveUnusedMemoryStage,
)
from nestmap.pipeline.stages.mapping.locality import (
    SearchUnusedMemoryStage as SearchUnusedMemoryStage,
)
from nestmap.pipeline.stages.mapping.loma import CostModelStage as CostModelStage
from nestmap.pipeline.stages.mapping.loma import LomaStage as LomaStage
from nestmap.pipeline.stages.mapping.loma import WorkloadStage as WorkloadStage
from nestmap.pipeline.stages.mapping.ordering import (
    OrderedCandidatesStage as OrderedCandidatesStage,
)
from nestmap.pipeline.stages.mapping.ordering import (
    TemporalOrderingConversionStage as TemporalOrderingConversionStage,
)
from nestmap.pipeline.stages.mapping.padding import PaddingStage as PaddingStage
from nestmap.pipeline.stages.mapping.recall import RecallStage as RecallStage
from nestmap.pipeline.stages.mapping.reduce import FlattenStage as FlattenStage
from nestmap.pipeline.stages.mapping.reduce import ListifyStage as ListifyStage
from nestmap.pipeline.stages.mapping.reduce import MinimalEDPStage as MinimalEDPStage
from nestmap.pipeline.stages.mapping.reduce import MinimalEnergyStage as MinimalEnergyStage
from nestmap.pipeline.stages.mapping.reduce import MinimalLatencyStage as MinimalLatencyStage
from nestmap.pipeline.stages.mapping.reduce import StreamOfOneStage as StreamOfOneStage
from nestmap.pipeline.stages.mapping.reduce import SumStage as SumStage
from nestmap.pipeline.stages.mapping.reduce import minimal as minimal
from nestmap.pipeline.stages.mapping.salsa import SalsaStage as SalsaStage
from nestmap.pipeline.stages.mapping.spatial import (
    SpatialMappingConversionStage as SpatialMappingConversionStage,
)
from nestmap.pipeline.stages.mapping.spatial import (
    SpatialMappingGeneratorStage as SpatialMappingGeneratorStage,
)
from nestmap.pipeline.stages.mapping.vector import VectorStage as VectorStage
from nestmap.pipeline.stages.multicore.layer_splitting import (
    LayerSplittingStage as LayerSplittingStage,
)
from nestmap.pipeline.stages.multicore.split import (
    GenerateCNWorkloadHybridStage as GenerateCNWorkloadHybridStage,
)
from nestmap.pipeline.stages.multicore.split import (
    StreamONNXModelParserStage as StreamONNXModelParserStage,
)
from nestmap.pipeline.stages.multicore.split import (
    UserDefinedModelParserStage as UserDefinedModelParserStage,
)
from nestmap.pipeline.stages.multicore.split_options import split_options as split_options
