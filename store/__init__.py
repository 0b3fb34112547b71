"""Past explorations in DuckDB."""

from nestmap.store.db import DEFAULT_PATH as DEFAULT_PATH
from nestmap.store.db import Store as Store
from nestmap.store.records import RunInfo as RunInfo
from nestmap.store.records import RunRecord as RunRecord
from nestmap.store.records import RunStatus as RunStatus
from nestmap.store.writer import CHUNK as CHUNK
from nestmap.store.writer import Run as Run
