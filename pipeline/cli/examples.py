"""``nestmap examples``: lists the bundled accelerators, mappings and networks."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from nestmap.model import Accelerator, MappingConstraints, MultiCoreAccelerator
from nestmap.model.mapping.constraints import DEFAULT_TARGET
from nestmap.pipeline.cli.printing import show
from nestmap.pipeline.format.mappings import array_text, spatial_text
from nestmap.pipeline.format.numbers import capacity
from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    light_names,
    mapping_names,
    multicore_names,
)
from nestmap.pipeline.frontend.networks import network_dims, network_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.render.text.plain_table import Line, Tone

_SINGULAR: Final = {"links": "link", "buses": "bus", "shared memories": "shared memory"}
_EXAMPLE: Final = "nestmap explore light:squeezenet --accelerator tpu_like"


def run_examples() -> None:
    """Prints the lists and an example command."""
    machines = [(name, _machine(read_accelerator(name))) for name in accelerator_names()]
    mappings = [
        (name, _fixed(read_mapping(name, for_accelerator=None))) for name in mapping_names()
    ]
    show(_section("Accelerators (--accelerator NAME)", machines))
    several = [(name, _cores(read_multicore(name))) for name in multicore_names()]
    show(_section("Several cores (nestmap split --cores NAME)", several))
    show(_section("Mappings (--mapping NAME; used with the accelerator of that name)", mappings))
    show(_section("Networks (from the onnx package)", [(name, "") for name in light_names()]))
    generated = [(name, _open(network_dims(name))) for name in network_names()]
    show(_section("Networks (generated; sizes are set by --dim)", generated))
    show([Line("Try", Tone.STRONG), Line(f"  {_EXAMPLE}")])


def _section(title: str, items: list[tuple[str, str]]) -> Iterator[Line]:
    width = max((len(name) for name, _ in items), default=0)
    yield Line(title, Tone.STRONG)
    for name, text in items:
        yield Line(f"  {name:<{width}}  {text}".rstrip())
    yield Line()


def _open(dims: dict[str, int]) -> str:
    """The dimensions that a network leaves open, with their defaults."""
    return ", ".join(f"{name}={size}" for name, size in dims.items())


def _machine(accelerator: Accelerator) -> str:
    """Array size and memories, innermost first."""
    memories = ", ".join(
        f"{level.name} ({capacity(level.instance.size)})" for level in accelerator.memories
    )
    return f"{array_text(accelerator)}; {memories}"


def _cores(accelerator: MultiCoreAccelerator) -> str:
    """The number of cores of each name, and the connections between them."""
    counts = Counter(core.name for core in accelerator.cores)
    ways = [(len(accelerator.links), "links"), (len(accelerator.buses), "buses")]
    ways.append((len(accelerator.shared), "shared memories"))
    texts = (f"{count} {what if count > 1 else _SINGULAR[what]}" for count, what in ways if count)
    return f"{', '.join(f'{n} x {name}' for name, n in counts.items())}; {', '.join(texts)}"


def _fixed(constraints: MappingConstraints) -> str:
    """The spatial mapping for most layers, and which operators have their own."""
    texts: list[str] = []
    for entry in constraints.entries:
        if entry.target == DEFAULT_TARGET and entry.spatial_mapping is not None:
            texts.append(spatial_text(entry.spatial_mapping))
    own = [entry.target for entry in constraints.entries if entry.target != DEFAULT_TARGET]
    return "; ".join([*texts, f"its own for {', '.join(own)}"] if own else texts)
