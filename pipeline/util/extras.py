"""What must be installed before something that not everybody needs is done."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from nestmap.model import InputError

REPORT: Final = ("jinja2", "altair", "vl_convert")
"""What the pages of a report are made with, by the names that one imports."""

_NAMES: Final = {"vl_convert": "vl-convert-python"}


def check_installed(where: str, packages: Sequence[str], extra: str) -> None:
    """Checks that packages are there; ``extra`` of nestmap installs them.

    Raises:
        InputError: where one is not: how to install it.
    """
    missing = [_NAMES.get(name, name) for name in packages if find_spec(name) is None]
    if missing:
        found = f"no {' and no '.join(missing)} in this Python"
        raise InputError(where, found, f"what `pip install 'nestmap[{extra}]'` installs")
