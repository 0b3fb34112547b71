"""What a process runs first that is to be interrupted, or whose child is to crash."""

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

_ONNX: Final = f"""
{START}
from threading import Timer
from nestmap.pipeline.frontend.onnx_process import client
usual = client.exchange
def exchange(process, request, seconds):
    if request is not None:
        %s
    return usual(process, request, seconds)
client.exchange = exchange
"""

ONNX_CRASH: Final = _ONNX % "os.kill(process.pid, signal.SIGSEGV)"
"""The process that reads ONNX files crashes."""

ONNX_CTRL_C: Final = _ONNX % (
    "print(process.pid, flush=True); os.kill(process.pid, signal.SIGSTOP); "
    "Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()"
)
"""Ctrl-C while an ONNX file is read; prints the process that reads it."""
