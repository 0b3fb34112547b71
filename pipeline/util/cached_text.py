"""Texts that take long to make, kept with the user's caches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from nestmap.model.errors import InputError
from nestmap.model.user_caches import user_caches
from nestmap.pipeline.util.atomic_files import write_text


def cached_text(name: str, make: Callable[[], str]) -> str:
    """The text of the cached file with this name; made, and cached if possible, if there is none.

    The name must tell all that determines the text, such as the versions of the packages it is
    made of. Where the user's caches cannot be read or written, the text is made each time.
    """
    folder = user_caches()
    if folder is None:
        return make()
    file = folder / name
    with suppress(OSError, UnicodeDecodeError):
        return file.read_bytes().decode()
    text = make()
    with suppress(OSError, InputError):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
    return text
