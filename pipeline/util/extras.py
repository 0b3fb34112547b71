"""Checks that optional packages are installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from nestmap.model import InputError

REPORT: Final = ("jinja2", "vl_convert")
"""The import names of the packages that pages need."""

_NAMES: Final = {"vl_convert": "vl-convert-python"}


def check_installed(where: str, packages: Sequence[str], extra: str) -> None:
    """Checks that packages are installed; ``extra`` of nestmap installs them.

    Raises:
        InputError: if one is missing; the message says how to install it.
    """
    missing = [_NAMES.get(name, name) for name in packages if find_spec(name) is None]
    if missing:
        found = f"no {' and no '.join(missing)} in this Python"
        raise InputError(where, found, f"what `pip install 'nestmap[{extra}]'` installs")
