"""The command line."""

import gc
import sys
from typing import Final

from nestmap.pipeline.cli.interrupts import exit_if_interrupted
from nestmap.pipeline.cli.process_end import end_process

_COLLECTION: Final = (600_000, 20, 20)
"""New objects between two collections of garbage, and the collections of older objects.

Python's own (700, 10, 10) looks through all that imports have made again and again: a tenth of the
time of short commands.
"""


def main() -> None:
    """Runs the command line, and ends the process; the entry point of ``nestmap``."""
    gc.set_threshold(*_COLLECTION)
    try:
        with exit_if_interrupted():
            from nestmap.pipeline.cli.commands import command_line  # noqa: PLC0415 (interrupted, too)

            try:
                command_line(sys.argv[1:])()
            except OSError as error:  # help that cannot be written; commands report their errors
                from nestmap.pipeline.cli.error_handling import report_error  # noqa: PLC0415 (rare)

                raise SystemExit(report_error(error)) from None
    except SystemExit as error:
        if isinstance(error.code, int):
            end_process(error.code)
        raise
