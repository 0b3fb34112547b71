"""A picture: SVG with its text alternative; it shows and saves itself."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.pipeline.util.image_files import save_svg


class Picture(Frozen, frozen=True):
    """A picture for notebooks and files, which :meth:`save` writes as SVG, PNG or PDF."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    svg: str

    def save(self, path: Path | str) -> None:
        """Writes the picture as SVG, PNG or PDF.

        Raises:
            InputError: if the file name has another ending, the file cannot be written, or
                vl-convert, which makes PNG and PDF, is not installed.
        """
        save_svg(self.svg, Path(path))

    def _repr_svg_(self) -> str:
        return self.svg


def picture_of(name: str, root: ET.Element) -> Picture:
    """The picture of an SVG element, whose title it has."""
    title = root.findtext("title") or name
    return Picture(name=name, title=title, svg=ET.tostring(root, encoding="unicode"))
