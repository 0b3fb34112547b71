"""What a sweep needs of a space that was checked, whatever its base is."""

from typing import Final, NamedTuple, Protocol

import yaml

from nestmap.model import Workload
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Description, Design, DesignSpace
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.sweep.space.design_settings import DesignSettings, design_settings

# --- the accelerator of a design as a YAML file that runs as it is ---

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


class MachineFigures(NamedTuple):
    """The accelerator of a design: its content hash, its area in the unit of the description."""

    accelerator: str
    area: float


class SweptSpace(Protocol):
    """A space with its inputs read."""

    @property
    def settings(self) -> DesignSettings:
        """What designs change in the base."""
        ...

    @property
    def networks(self) -> tuple[Workload, ...]:
        """The networks."""
        ...

    def figures(self, design: Design) -> MachineFigures:
        """The hash and the area of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        ...

    def quantities(self, design: Design) -> dict[str, Value]:
        """What constraints may say of a design's accelerator.

        Raises:
            InputError: where its description is refused.
        """
        ...
