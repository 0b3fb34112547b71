"""The explained mapping: loop nest, accesses, latency, energy, what binds and what would help."""

from nestmap.pipeline.explain.explanation import Explanation as Explanation
from nestmap.pipeline.explain.explanation import explain as explain
from nestmap.pipeline.explain.recorded import recorded_problem as recorded_problem
from nestmap.pipeline.explain.recorded import searched_problem as searched_problem
