"""JSON values and files."""

from __future__ import annotations

import json
from pathlib import Path

from nestmap.pipeline.util.atomic_files import write_text

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def write_json(path: Path, value: Json) -> None:
    """Writes a value to a file, as :func:`~nestmap.pipeline.util.atomic_files.write_text` does.

    Raises:
        InputError: if the file cannot be written.
    """
    write_text(path, json.dumps(value, indent=2) + "\n")
