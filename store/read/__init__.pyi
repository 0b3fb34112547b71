from . import multicore as multicore
from . import named_queries as named_queries
from . import relation as relation
from . import results as results
from . import run_lookup as run_lookup
from . import searches as searches
from . import sql as sql
