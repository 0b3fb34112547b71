"""A chart: its Vega-Lite specification and its text alternative; it shows and saves itself."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias, cast

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.pipeline.format.palette import INK
from nestmap.pipeline.util.atomic_files import Json, write_text
from nestmap.pipeline.util.image_files import check_drawing, check_ending, save_svg

WIDTH: Final = 640
"""The width (pixels) of a chart outside pages, which have their own."""

MIME: Final = "application/vnd.vegalite.v6+json"
"""The type of the specification in notebooks, which draw it themselves."""

_Config: TypeAlias = dict[str, Json]

_PAPERS: Final = {False: ("#ffffff", INK), True: ("#14181d", "#e3e6ea")}
"""Paper and ink, light and dark."""


class Chart(Frozen, frozen=True):
    """A chart, for pages, notebooks and files.

    ``name`` is for markup and file names. ``summary`` is the text alternative: a description of the
    chart with its main numbers. ``spec`` is JSON text: a Vega-Lite specification including its
    data, to which a page adds its width and its colours.

    A notebook shows a chart as the last value of a cell. Whoever wants to change one takes its
    :attr:`specification`, for example ``altair.Chart.from_dict(chart.specification)``.
    """

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    summary: str
    spec: str

    @property
    def specification(self) -> dict[str, Json]:
        """The Vega-Lite specification, complete with data, width and light colours."""
        return self._drawn(dark=False)

    def svg(self, *, dark: bool = False) -> str:
        """The chart as SVG, on white or, if ``dark``, on dark paper.

        Raises:
            InputError: if vl-convert is not installed.
        """
        check_drawing()
        import vl_convert  # noqa: PLC0415 (takes long to import)

        return vl_convert.vegalite_to_svg(self._drawn(dark=dark), show_warnings=False)

    def save(self, path: Path | str, *, dark: bool = False) -> None:
        """Writes the chart as SVG, PNG, PDF, HTML (interactive, without network) or Vega-Lite JSON.

        Raises:
            InputError: if the file name has another ending, the file cannot be written, or
                vl-convert is not installed.
        """
        path = Path(path)
        match check_ending(path):
            case ".json":
                write_text(path, json.dumps(self._drawn(dark=dark), ensure_ascii=False) + "\n")
            case ".html":
                check_drawing()
                import vl_convert  # noqa: PLC0415 (takes long to import)

                write_text(path, vl_convert.vegalite_to_html(self._drawn(dark=dark), bundle=True))
            case _:
                save_svg(self.svg(dark=dark), path)

    def _repr_mimebundle_(self, include: object, exclude: object) -> dict[str, object]:
        """For notebooks: those that draw Vega-Lite themselves do, others show the picture."""
        del include, exclude
        shown: dict[str, object] = {
            MIME: self.specification,
            "text/plain": f"{self.title}: {self.summary}",
        }
        return {**shown, "image/svg+xml": self.svg()} if find_spec("vl_convert") else shown

    def _drawn(self, *, dark: bool) -> dict[str, Json]:
        """The specification outside a page; ``charts.js`` does the same within one."""
        spec: dict[str, Json] = json.loads(self.spec)
        paper, ink = _PAPERS[dark]
        room = cast("dict[str, int]", spec.pop("usermeta"))
        parameters = cast("list[dict[str, Json]]", spec.pop("params"))
        for each in parameters:
            if each["name"] == "dark":
                each["value"] = dark
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            **spec,
            **({"width": WIDTH} if "width" in spec else {}),
            "title": self.title,
            "params": cast("Json", parameters),
            "background": paper,
            "config": _merged(cast("_Config", spec["config"]), _looks(room, ink)),
        }


def _looks(room: dict[str, int], ink: str) -> _Config:
    """The configuration that a page makes for its own colours and width."""
    text: _Config = {"labelColor": ink, "titleColor": ink}
    names = min(8 * room["axisLetters"], round(0.3 * WIDTH))
    columns = max(1, (WIDTH - names - 60) // (7 * room["legendLetters"] + 25))
    return {
        "axis": {**text, "gridColor": ink, "domainColor": ink, "tickColor": ink},
        "axisY": {"labelLimit": max(names, 50)},
        "legend": {**text, "symbolBaseFillColor": ink, "columns": columns},
        "title": {"color": ink, "anchor": "start"},
        "bar": {"stroke": ink},
        "style": {"ink": {"stroke": ink, "color": ink}, "outlined": {"stroke": ink}},
    }


def _merged(first: _Config, second: _Config) -> _Config:
    """Two configurations as one; they have no value in common."""
    merged = dict(first)
    for key, value in second.items():
        there = merged.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            merged[key] = _merged(there, value)
        else:
            merged[key] = value
    return merged
