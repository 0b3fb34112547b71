from . import core_costs as core_costs
from . import generations as generations
from . import memory_costs as memory_costs
from . import run_processes as run_processes
from . import runs as runs
