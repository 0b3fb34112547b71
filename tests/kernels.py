"""Compiles kernels that many tests call, which each worker of the tests would do otherwise.

``make test`` runs it first: ``python -m tests.kernels``.
"""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from nestmap.costmodel.evaluate_rows import is_compiled_before
from nestmap.costmodel.kernel.jit import is_compiled
from nestmap.search.multicore.schedule.list_scheduler import schedule_nodes
from tests.pipeline.cli.inputs import program

EXPLORE: Final = ("explore", "light:squeezenet", "-a", "tpu_like", "--no-store")
STREAM: Final = ("stream", "light:squeezenet", "-c", "quad_tpu", "--no-store", "--lpf-limit", "3")
AT_ONCE: Final = (
    (EXPLORE,),
    (
        (*EXPLORE, "--search", "loma", "--lpf-limit", "3"),
        (*STREAM, "--individuals", "4", "--generations", "1"),
    ),
)
"""Commands that call them: two lists, for two processors, which have little in common."""


def compile_kernels() -> None:
    """Compiles them, unless this machine has compiled cost model and scheduler before."""
    if not (is_compiled_before() and is_compiled(schedule_nodes)):
        with ThreadPoolExecutor(len(AT_ONCE)) as pool:
            list(pool.map(_run, AT_ONCE))


def _run(commands: Sequence[Sequence[str]]) -> None:
    for words in commands:
        # what goes wrong will be said by tests
        subprocess.run([*program(), *words], capture_output=True, check=False)


if __name__ == "__main__":
    compile_kernels()
