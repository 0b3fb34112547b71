"""Reads YAML files into a tree of located nodes, or raises an error that locates the problem."""

from pathlib import Path
from typing import Final, Protocol, cast

import yaml
from yaml.constructor import SafeConstructor
from yaml.representer import RepresenterError, SafeRepresenter

from nestmap.model import InputError
from nestmap.model.design_space.expression_syntax import LARGEST, Value
from nestmap.model.errors import shortened, warn_of_input
from nestmap.pipeline.frontend.bounded_files import read_bounded
from nestmap.pipeline.frontend.yaml.file_kind import FileKind, check_kind
from nestmap.pipeline.frontend.yaml.located_node import Node

# libyaml is ten times faster than the loader in Python; some builds of PyYAML lack it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MERGER: Final = SafeConstructor()
_TEXT: Final = "tag:yaml.org,2002:str"
_REPEATED: Final = frozenset({"ports"})
"""Fields of which the last one counts: a memory of ZigZag's tpu_like.yaml has two lists of ports,
the first of which is in an older format."""


class _Representer(Protocol):
    """What makes YAML nodes of Python objects."""

    def represent_data(self, data: object, /) -> yaml.Node: ...


DEEPEST: Final = 50
"""The deepest nesting of collections; parsers recurse, and no description needs more."""

LARGEST_FILE: Final = 32 * 2**20
"""The largest file (bytes)."""

MOST_VALUES: Final = 500_000
"""The largest number of values in a file."""

LARGEST_TREE: Final = 2_000_000
"""The largest number of values in a file, with aliases expanded."""

LONGEST_TEXT: Final = 10_000
"""The largest number of characters of a name, a number or an equation."""


def read_yaml(path: Path) -> Node:
    """The root of a YAML file in UTF-8.

    Raises:
        InputError: if the file is missing, unreadable, empty or not YAML.
    """
    return parse_yaml(_text(path), str(path))


def read_source(source: Path | object, kind: FileKind) -> Node:
    """The root of a YAML file of that kind, or of an object with the values of one.

    Raises:
        InputError: as for :func:`read_yaml`, if YAML cannot express a value, or it is recognized
            as a file of another kind.
    """
    root = read_yaml(source) if isinstance(source, Path) else _represented(source, kind.value)
    check_kind(root, kind)
    return root


def _represented(source: object, name: str) -> Node:
    """The root of an object, which errors call ``name``."""
    try:
        root = cast(_Representer, SafeRepresenter(sort_keys=False)).represent_data(source)
    except RepresenterError as error:
        found = f"a value of type {type(error.args[-1]).__name__}"
        expected = "numbers, texts, lists and dictionaries, as in a YAML file"
        raise InputError(name, found, expected) from None
    _resolve(root, name)
    return Node(root, name, _line(root))


def parse_yaml(text: str, file: str) -> Node:
    """The root of a YAML text; errors name it ``file``.

    Raises:
        InputError: if the text is empty, not YAML, nested too deeply or too large.
    """
    try:
        _check_size_and_depth(text, file)
        root: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
        if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
            raise InputError(file, "an empty file", "a YAML description")
        _resolve(root, file)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _not_yaml(file, line, error.problem or error.context or "") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise _not_yaml(file, line, error.reason) from None
    except (ValueError, OverflowError) as error:  # escapes that are not a character
        raise _not_yaml(file, 1, str(error)) from None
    return Node(root, file, _line(root))


def _text(path: Path) -> str:
    expected = "a YAML file"
    data = read_bounded(path, LARGEST_FILE, expected)
    if path.suffix == ".onnx":
        raise InputError(str(path), "an ONNX network", expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}", "bytes that are not UTF-8 text", expected) from None


def _not_yaml(file: str, line: int, problem: str) -> InputError:
    return InputError(f"{file}:{line}", f"text that is not YAML ({problem})", "valid YAML")


def _check_size_and_depth(text: str, file: str) -> None:
    """Rejects what is too large before the tree is built, and nested too deeply: libyaml crashes.

    The values of a tree take a hundred times the memory of their text.
    """
    depth = values = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            _check_value(event, file)
        if depth > DEEPEST:
            found = f"collections nested {depth} deep"
            raise InputError(f"{file}:{_line(event)}", found, f"at most {DEEPEST}")
        if values > MOST_VALUES:
            found, expected = f"more than {MOST_VALUES:,} values", f"at most {MOST_VALUES:,}"
            raise InputError(f"{file}:{_line(event)}", found, expected)


def _check_value(event: yaml.NodeEvent, file: str) -> None:
    """Rejects long names, numbers and tags: some take quadratic time to read."""
    texts = (event.anchor, getattr(event, "tag", None), getattr(event, "value", None))
    longest = max(len(text or "") for text in texts)
    if longest > LONGEST_TEXT:
        found = f"a value of {longest:,} characters"
        raise InputError(f"{file}:{_line(event)}", found, f"at most {LONGEST_TEXT:,}")


def _resolve(root: yaml.Node, file: str) -> None:
    """Resolves merge keys (<<); rejects trees that are infinite or huge once aliases are expanded.

    Anchors precede their aliases, so the recursion is no deeper than the nesting of the text.
    """
    sizes: dict[int, int | None] = {}

    def size(node: yaml.Node) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = None  # unknown yet: meeting the node again means it contains itself
            sizes[id(node)] = 1 + sum(size(child) for child in _children(node))
            _check_size(sizes[id(node)], file, _line(node))
            if isinstance(node, yaml.MappingNode):
                _check_keys(node, file)
                _MERGER.flatten_mapping(node)
        return _check_size(sizes[id(node)], file, _line(node))

    size(root)


def _check_keys(node: yaml.MappingNode, file: str) -> None:
    """Rejects names that a mapping has twice with different values; they may replace merged ones.

    Repeated numbers are errors where numbers are keys.
    """
    seen: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != _TEXT:
            continue
        if key.value in seen:
            where, found = f"{file}:{_line(key)}", f"a second {shortened(key.value)}"
            if key.value not in _REPEATED and not _is_equal(seen[key.value], value):
                raise InputError(where, found, "each name once")
            warn_of_input(where, f"{found}, which replaces the first", "one")
        seen[key.value] = value


def _is_equal(one: yaml.Node, other: yaml.Node) -> bool:
    """Whether two values are the same, wherever they stand."""
    if isinstance(one, yaml.ScalarNode) or isinstance(other, yaml.ScalarNode):
        return one.tag == other.tag and one.value == other.value
    parts, others = _children(one), _children(other)
    is_alike = one.tag == other.tag and len(parts) == len(others)
    return is_alike and all(map(_is_equal, parts, others))


def _check_size(size: int | None, file: str, line: int) -> int:
    if size is None or size > LARGEST_TREE:
        found = "an anchor that contains itself" if size is None else f"{size:,} values"
        expected = f"at most {LARGEST_TREE:,} values, with aliases expanded"
        raise InputError(f"{file}:{line}", found, expected)
    return size


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value)


def _line(place: yaml.Node | yaml.Event) -> int:
    return place.start_mark.line + 1 if place.start_mark else 0


# --- the values of a YAML file as dictionaries, lists, texts and numbers ---


def plain_values(node: Node) -> dict[str, object]:
    """The values of a mapping, as dictionaries, lists, texts and numbers; keys become texts.

    Raises:
        InputError: if there is another value, such as a date.
    """
    if node.is_numbered:
        entries = node.numbered("values by number").items()
        return {str(number): plain_value(entry) for number, entry in entries}
    return {name: plain_value(entry) for name, entry in node.entries().items()}


def plain_value(node: Node) -> object:
    """The value, as a dictionary, a list, a text, a number or ``None``.

    Raises:
        InputError: if there is another value in it, such as a date.
    """
    if node.is_mapping:
        return plain_values(node)
    if node.is_sequence:
        return [plain_value(item) for item in node.sequence()]
    return None if node.is_null else scalar_value(node)


def scalar_value(node: Node) -> Value:
    """A text, a number or a truth value.

    Raises:
        InputError: if it is another value.
    """
    text, truth, number = node.text_or_none(), node.boolean_or_none(), node.number_or_none()
    if text is not None:
        return text
    if truth is not None:
        return truth
    if number is None or not -LARGEST <= number <= LARGEST:  # NaN compares false
        raise node.error("a number, a text, true or false")
    return number
