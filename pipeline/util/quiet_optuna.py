"""Runs Optuna without its log and its warnings."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def quiet_optuna() -> Generator[None]:
    """Without the log of studies, and without warnings about many equal designs.

    The caller has checked that Optuna is installed.
    """
    from optuna import logging  # noqa: PLC0415 (Optuna is optional and takes long to import)

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)
