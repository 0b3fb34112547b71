"""The explained mapping: loop nest, accesses, latency, energy, what binds and what would help."""

from nestmap.pipeline.explore.recorded_problem import recorded_problem as recorded_problem
from nestmap.pipeline.explore.recorded_problem import searched_problem as searched_problem
from nestmap.pipeline.render.text.explanation import Explanation as Explanation
from nestmap.pipeline.render.text.explanation import explain as explain
