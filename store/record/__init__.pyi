from . import lifecycle as lifecycle
from . import multicore_run as multicore_run
from . import run as run
from . import sweep as sweep
