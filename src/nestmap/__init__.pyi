from .model.evaluation.recording import Recording as Recording
from .model.evaluation.recording import RecordMode as RecordMode
from .model.workload.builders import Precision as Precision
from .model.workload.builders import attention as attention
from .model.workload.builders import conv1d as conv1d
from .model.workload.builders import conv2d as conv2d
from .model.workload.builders import conv3d as conv3d
from .model.workload.builders import gemm as gemm
from .model.workload.builders import linear as linear
from .model.workload.builders import matmul as matmul
from .model.workload.builders import network as network
from .pipeline.explore.api import Exploration as Exploration
from .pipeline.explore.api import evaluate as evaluate
from .pipeline.explore.api import explore as explore
from .pipeline.explore.api import explore_networks as explore_networks
from .pipeline.explore.explanation import Explanation as Explanation
from .pipeline.explore.explanation import explain as explain
from .pipeline.explore.recorded_problem import recorded_problem as recorded_problem
from .pipeline.explore.resume import resume as resume
from .pipeline.frontend.torch import from_torch as from_torch
from .pipeline.multicore.api import StreamResult as StreamResult
from .pipeline.multicore.api import resume_stream as resume_stream
from .pipeline.multicore.api import stream as stream
from .pipeline.multicore.plan import StreamPlan as StreamPlan
from .pipeline.multicore.plan import stream_plan as stream_plan

NOTEBOOK_VIEWS: str
