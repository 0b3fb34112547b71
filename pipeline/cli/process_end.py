"""Ends the process at once, without looking through all its objects and freeing each."""

import atexit
import os
import sys
import threading


def end_process(code: int) -> None:
    """Ends the process with an exit code as Python does, but frees nothing: all commands are over.

    Python looks through all objects for garbage and frees them one by one, which takes a tenth of
    the time of short commands. Returns if a thread still works, because Python waits for it, or
    if output cannot be written, because Python reports that.
    """
    if threading.active_count() > 1:
        return
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] (os._exit does not run them)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # None after >&-
                stream.flush()
    except OSError:
        return
    os._exit(code)
