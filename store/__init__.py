"""Past explorations in DuckDB."""

from nestmap.store.db import DEFAULT_PATH as DEFAULT_PATH
from nestmap.store.db import Store as Store
from nestmap.store.memory_costs import CostQuestion as CostQuestion
from nestmap.store.named import NamedQuery as NamedQuery
from nestmap.store.named import Parameter as Parameter
from nestmap.store.records import RunInfo as RunInfo
from nestmap.store.records import RunKind as RunKind
from nestmap.store.records import RunRecord as RunRecord
from nestmap.store.records import RunStatus as RunStatus
from nestmap.store.records import SearchInfo as SearchInfo
from nestmap.store.records import StreamInfo as StreamInfo
from nestmap.store.relation import Relation as Relation
from nestmap.store.search import Search as Search
from nestmap.store.stream_reader import RecordedStream as RecordedStream
from nestmap.store.stream_run import StreamRun as StreamRun
from nestmap.store.writer import CHUNK as CHUNK
from nestmap.store.writer import Run as Run
