"""What a process runs first that is to be interrupted."""

from __future__ import annotations

from typing import Final

START: Final = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins without
"""
"""Reacts to Ctrl-C."""

CTRL_C: Final = f"""
{START}
from nestmap.pipeline.cli.progress import ExplorationBar
ExplorationBar.observe = lambda bar, batch: os.kill(os.getpid(), signal.SIGINT)
"""
"""Ctrl-C at the first evaluation."""
