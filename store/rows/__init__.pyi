from . import core_costs as core_costs
from . import generations as generations
from . import memory_costs as memory_costs
from . import run_records as run_records
from . import runs as runs
