from . import multicore as multicore
from . import results as results
