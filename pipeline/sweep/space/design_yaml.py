"""The accelerator of a design as a YAML file that runs as it is."""

from __future__ import annotations

from typing import Final

import yaml

from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Description, Design, DesignSpace
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.sweep.space.design_settings import design_settings

_NO_WRAPPING: Final = 10**6
_REFERENCE: Final = "# figures in the reference's counting: explore it with --reference\n"


def design_yaml(
    space: DesignSpace,
    base: Description,
    design: DesignResult,
    *,
    static_energy: bool,
    is_reference: bool,
) -> str:
    """The description of a design's accelerator as the text of a YAML file.

    A comment says which design it is and, if ``is_reference``, that its figures are in the
    reference's counting, which a description has no field for.
    """
    made = design_settings(LocatedSpace(space, {}), base)
    tree = made.description(Design(design.number, design.parameters))
    if static_energy:
        tree["static_energy"] = True
    text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=_NO_WRAPPING)
    counted = (
        "# figures in the reference's counting: explore it with --reference\n"
        if is_reference
        else ""
    )
    return f"# Design {design.number} of {space.name!r}: {design}\n{counted}{text}"
