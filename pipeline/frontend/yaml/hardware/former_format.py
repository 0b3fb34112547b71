"""Reads accelerators in ZigZag's format before February 2025 as those of today.

Bandwidths belonged to a memory (``r_bw``), which counted its ports (``r_port``) and named the one
that each operand uses for each movement; the energy of a unit was that of its multiplier.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import yaml

from nestmap.model.errors import warn_of_input
from nestmap.pipeline.frontend.yaml.located_node import Node

_MEMORIES: Final = "memories"
_ARRAY: Final = "operational_array"
_RENAMED: Final = {"multiplier_energy": "unit_energy", "multiplier_area": "unit_area"}
_BITS: Final = "a number of bits per cycle"
_COUNT: Final = "a number of ports"
_KINDS: Final = (("r", "read"), ("w", "write"), ("rw", "read_write"))
_OF_MEMORY: Final = frozenset(
    {
        *(f"{kind}_{what}" for kind in "rw" for what in ("bw", "port")),
        *("rw_port", "min_r_granularity", "min_w_granularity"),
    }
)
_FORM: Final = "ports by movement, such as {fh: w_port_1, tl: r_port_1}"
_PORTS: Final = "a list with the ports of each operand"


def in_todays_format(root: Node) -> Node:
    """The description with ports as they are written today, if it is of the former format.

    Raises:
        InputError: if a memory of the former format has no such ports.
    """
    fields = root.entries()
    memories = fields[_MEMORIES].entries() if _is_mapping(fields.get(_MEMORIES)) else {}
    array = fields[_ARRAY].entries() if _is_mapping(fields.get(_ARRAY)) else {}
    is_former = {
        name for name, node in memories.items() if _is_mapping(node) and "r_bw" in node.entries()
    }
    if not is_former and not _RENAMED.keys() & array.keys():
        return root
    warn_of_input(root.where, "ZigZag's format before February 2025", "ports with bandwidths")
    made = {name: _memory(memories[name]) for name in is_former}
    changed = dict[str, yaml.Node]()
    if made:
        changed[_MEMORIES] = _with(memories, fields[_MEMORIES], made)
    if array:
        changed[_ARRAY] = _array(array, fields[_ARRAY])
    return replace(root, value=_with(fields, root, changed))


def _is_mapping(node: Node | None) -> bool:
    return node is not None and isinstance(node.value, yaml.MappingNode)


def _with(
    fields: Mapping[str, Node], whole: Node, changed: Mapping[str, yaml.Node]
) -> yaml.MappingNode:
    """A mapping with other values under some of its keys."""
    pairs = [(_text(whole, name), changed.get(name, x.value)) for name, x in fields.items()]
    return _mapping(whole, pairs)


def _array(fields: Mapping[str, Node], whole: Node) -> yaml.MappingNode:
    """The array, whose precisions matter to IMC arrays alone."""
    is_imc = "is_imc" in fields
    return _mapping(
        whole,
        [
            (_text(node, _RENAMED.get(name, name)), node.value)
            for name, node in fields.items()
            if is_imc or name != "input_precision"
        ],
    )


def _memory(node: Node) -> yaml.MappingNode:
    fields = node.entries()
    kept = {name: x for name, x in fields.items() if name not in _OF_MEMORY and name != "ports"}
    pairs = [(_text(x, name), x.value) for name, x in kept.items()]
    ports = yaml.SequenceNode("tag:yaml.org,2002:seq", list(_ports(node)), *_marks(node))
    return _mapping(node, [*pairs, (_text(node, "ports"), ports)])


def _ports(node: Node) -> Iterator[yaml.Node]:
    """The ports that a memory counts, each with the movements that name it."""
    fields = node.entries()
    operands = [x.text() for x in fields["operands"].sequence()] if "operands" in fields else []
    uses = dict[str, list[str]]()
    given = fields["ports"].sequence(_PORTS) if "ports" in fields else ()
    if len(given) != len(operands):
        raise node.error(f"{_PORTS}: {', '.join(operands)}", f"{len(given)} of them")
    for operand, ports in zip(operands, given, strict=True):
        for movement, port in ports.entries(_FORM).items():
            uses.setdefault(port.text(_FORM), []).append(f"{operand}, {movement}")
    for kind, meaning in _KINDS:
        count = fields[f"{kind}_port"].integer(_COUNT, minimum=0) if f"{kind}_port" in fields else 0
        side = kind[0]  # ports for both have the bandwidth of reads
        for number in range(1, count + 1):
            name = f"{kind}_port_{number}"
            yield _port(node, (name, meaning), (side, fields), uses.pop(name, []))
    for name in uses:
        raise node.error("a port that the memory has", f"port {name}")


def _port(
    node: Node, named: tuple[str, str], width: tuple[str, Mapping[str, Node]], uses: list[str]
) -> yaml.MappingNode:
    side, fields = width
    for name in (f"{side}_bw", "r_bw"):
        if name in fields:
            most = fields[name].integer(_BITS, minimum=1)
            break
    else:
        raise node.error(f"the field {side}_bw", f"no {side}_bw")
    granularity = fields.get(f"min_{side}_granularity")
    least = most if granularity is None else granularity.integer(_BITS, minimum=1)
    name, kind = named
    items: list[yaml.Node] = [_text(node, use) for use in uses]
    allocation = yaml.SequenceNode("tag:yaml.org,2002:seq", items, *_marks(node))
    return _mapping(
        node,
        [
            (_text(node, "name"), _text(node, name)),
            (_text(node, "type"), _text(node, kind)),
            (_text(node, "bandwidth_min"), _number(node, least)),
            (_text(node, "bandwidth_max"), _number(node, most)),
            (_text(node, "allocation"), allocation),
        ],
    )


def _mapping(place: Node, pairs: list[tuple[yaml.ScalarNode, yaml.Node]]) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, *_marks(place))


def _text(place: Node, text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, *_marks(place))


def _number(place: Node, number: int) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:int", str(number), *_marks(place))


def _marks(place: Node) -> tuple[yaml.Mark | None, yaml.Mark | None]:
    """The place in the file, so that errors name its line."""
    return place.value.start_mark, place.value.end_mark
