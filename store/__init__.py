"""The store of recorded explorations, a DuckDB file or a folder of Parquet parts."""

from nestmap.store.read.multicore import RecordedStream as RecordedStream
from nestmap.store.read.named_queries import NamedQuery as NamedQuery
from nestmap.store.read.named_queries import Parameter as Parameter
from nestmap.store.read.relation import Relation as Relation
from nestmap.store.record.commit_policy import ROW_GROUP as ROW_GROUP
from nestmap.store.record.multicore_run import StreamRun as StreamRun
from nestmap.store.record.run import Run as Run
from nestmap.store.record.search import Search as Search
from nestmap.store.rows.memory_costs import CostQuestion as CostQuestion
from nestmap.store.rows.run_records import RunInfo as RunInfo
from nestmap.store.rows.run_records import RunKind as RunKind
from nestmap.store.rows.run_records import RunRecord as RunRecord
from nestmap.store.rows.run_records import RunStatus as RunStatus
from nestmap.store.rows.run_records import SearchInfo as SearchInfo
from nestmap.store.rows.run_records import StreamInfo as StreamInfo
from nestmap.store.store import DEFAULT_PATH as DEFAULT_PATH
from nestmap.store.store import Store as Store
