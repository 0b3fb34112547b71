"""Declares the fields of a mapping in a file as a pydantic model, and reads them.

The docstring of such a model and those of its fields are the Markdown that the page of formats and
editors show. Errors say what was expected in the words of :class:`Written`.
"""

import ast
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from sys import modules
from types import NoneType, UnionType
from typing import Annotated, ClassVar, Final, TypeVar, Union, cast, final, get_args, get_origin

from pydantic import AfterValidator, BaseModel, Field, Tag, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from nestmap.model.errors import InputError, shortened, suggestion
from nestmap.model.mapping.constraints import FieldPlaces
from nestmap.pipeline.frontend.yaml import field_schema
from nestmap.pipeline.frontend.yaml.field_schema import (
    Entries,
    Forms,
    Need,
    Origin,
    Part,
    Section,
    one_of,
)
from nestmap.pipeline.frontend.yaml.located_node import LARGEST, NAME, NAME_HINT, Node

M = TypeVar("M", bound="FileModel")
B = TypeVar("B")


@final
@dataclass(frozen=True, slots=True)
class Written:
    """How a value is written: metadata of a field, or of a type.

    ``kind`` describes the value and its unit, as errors do; a type may say it instead. ``example``
    is YAML, empty if other parts of the format have an example. ``otherwise`` says in Markdown what
    counts without the field, where its default does not.
    """

    kind: str = ""
    example: str = ""
    otherwise: str = ""
    need: Need | None = None
    origin: Origin | None = None


def ignored(example: str, origin: Origin | None = None) -> Written:
    """A field that other tools' files have, with any value, and that has no effect."""
    return Written("anything", example, need=Need.IGNORED, origin=origin)


class FileModel(BaseModel, frozen=True, extra="forbid"):
    """The fields of a mapping in a file; ``at`` is its path from the root.

    Without another ``origin``, its fields are those of ZigZag. A field without a value counts as
    left out, unless it is required.
    """

    at: ClassVar[tuple[str, ...]] = ()
    origin: ClassVar[Origin] = Origin.ZIGZAG

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        fields, values = cls.model_fields, cast("Mapping[str, object]", given)
        return {
            name: value
            for name, value in values.items()
            if value is not None or name not in fields or fields[name].is_required()
        }


# --- types of values ---

LARGEST_COUNT: Final = 2**31 - 1
NAME_PATTERN: Final = f"^{NAME}$"

Text = Annotated[str, Field(pattern=r"\S"), Written("a text")]
Name = Annotated[str, Field(pattern=NAME_PATTERN), Written("a name")]
Switch = Annotated[bool, Field(strict=True), Written("true or false")]
Count = Annotated[int, Field(strict=True, ge=1, le=LARGEST_COUNT)]
Number = Annotated[int, Field(strict=True, ge=0, le=LARGEST_COUNT)]
Whole = Annotated[int, Field(strict=True, ge=0, le=LARGEST)]
Real = Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False)]


def different(items: tuple[str, ...]) -> tuple[str, ...]:
    """The items, which must be different."""
    for i, item in enumerate(items):
        if item in items[:i]:
            raise PydanticCustomError("repeated", "a second {item}", {"at": i, "item": item})
    return items


def as_list(given: object) -> object:
    """A list, of one item if a single one is given."""
    if given is None or isinstance(given, tuple):
        return cast("tuple[object, ...] | None", given)
    return (given,)


Operand = Annotated[str, Field(pattern=NAME_PATTERN), Written("a memory operand such as I1")]
Operands = Annotated[tuple[Operand, ...], AfterValidator(different)]
ArrayDimension = Annotated[Text, Written("an array dimension such as D1")]
ArrayDimensions = Annotated[
    tuple[ArrayDimension, ...],
    AfterValidator(different),
    Written("a list of array dimensions such as D1"),
]

Share = Annotated[Real, Field(gt=0, le=1.0), Written("a share of elements, above 0 and at most 1")]
Energy = Annotated[Real, Written("an energy in pJ, not negative")]
Area = Annotated[Real, Written("an area, not negative")]
"""In the unit of the whole description."""
Power = Annotated[Real, Written("a power in mW, not negative")]
Period = Annotated[Real, Field(gt=0), Written("a clock period in ns, above 0")]
Rate = Annotated[Count, Written("a positive number of bit/cycle")]
Technology = Annotated[Real, Field(ge=7, le=180.0), Written("a technology node of 7 to 180 nm")]
"""The nodes that :mod:`~nestmap.costmodel.technology` knows, which takes long to import."""


# --- reads a mapping, and says where it is wrong ---


def read_fields(node: Node, model: type[M]) -> M:
    """The fields of a mapping.

    Raises:
        InputError: if it has others, or values of another kind; the error names line and field.
    """
    try:
        return model.model_validate(node.content)
    except ValidationError as error:
        raise _located(error, node, model) from None


def places_of(node: Node) -> FieldPlaces:
    """The places of the fields of a mapping, if a file states them."""
    fields = node.entries().items()
    return FieldPlaces(
        known=tuple((name, x.place) for name, x in fields if x.line and not x.is_null)
    )


def check_known(node: Node, field: str, names: Collection[str], known: Collection[str]) -> None:
    """Checks that all ``names``, which a field of ``node`` lists, are known.

    Raises:
        InputError: if one is not.
    """
    for i, name in enumerate(names):
        if name not in known:
            raise node.at(field, i).error(suggestion(name, known))


_RANKS: Final = {"extra_forbidden": 0, "invalid_key": 0, "missing": 2}
"""Fields that are not known are told first, those that lack last; wrong values in between."""


def _located(error: ValidationError, node: Node, model: type[FileModel]) -> InputError:
    """The first error, at its place in the file."""
    first = min(error.errors(include_url=False), key=lambda x: _RANKS.get(x["type"], 1))
    is_key = first["loc"][-1:] == ("[key]",)
    *before, last = (first["loc"][:-1] if is_key else first["loc"]) or ("",)
    place = _Place(node, model)
    for step in before:
        place = place.at(step)
    if is_key:
        return place.node.at(last).error(place.kind, f"the key {shortened(repr(last))}")
    if first["type"] == "extra_forbidden":
        return place.unknown(str(last))
    if first["type"] == "invalid_key":
        return place.node.error("a text as key", f"the key {last}")
    is_missing = first["type"] == "missing"  # perhaps an item of a list
    return (place if is_missing or last == "" else place.at(last)).error(first)


@final
@dataclass(frozen=True, slots=True)
class _Place:
    """A value of a file, and what is declared to stand there."""

    node: Node
    annotation: object
    kind: str = ""

    def at(self, step: str | int) -> "_Place":
        """The value at a field, a key or in a list."""
        if step in _tagged(self.annotation):
            return _Place(self.node, _tagged(self.annotation)[step], self.kind)
        model, annotation = _model(self.annotation), _bare(self.annotation)
        if model is not None:
            annotation = _annotation(model, str(step))
        else:
            annotation = get_args(annotation)[0 if get_origin(annotation) is tuple else 1]
        # A single item may stand for a list: see as_list.
        is_alone = get_origin(_bare(self.annotation)) is tuple and not self.node.is_sequence
        node = self.node if is_alone else self.node.at(step)
        return _Place(node, annotation, _kind(annotation) or self.kind)

    def unknown(self, name: str) -> InputError:
        """The error about a field that is not known here."""
        model = _model(self.annotation)
        known = model.model_fields if model else ()
        found = f"the unknown field {shortened(repr(name))}"
        return InputError(self.node.at(name).where, found, suggestion(name, known))

    def error(self, detail: ErrorDetails) -> InputError:
        """What is wrong here, in the words of the declaration."""
        kind, context = detail["type"], detail.get("ctx", {})
        if kind == "repeated":
            item = self.at(context["at"])
            return item.node.error(f"{item.kind}, each once", f"a second {context['item']}")
        if kind in ("missing", "too_long"):
            return self._lacking(str(detail["loc"][-1]))
        model, choices = _model(self.annotation), _subclass(_bare(self.annotation), StrEnum)
        if model is not None:
            return self.node.error(f"the fields {', '.join(model.model_fields)}")
        if choices is not None:
            given = self.node.text_or_none()
            return self.node.error(suggestion(given, list(choices)) if given else one_of(choices))
        return self.node.error(self.kind + self._hint(kind, context))

    def _lacking(self, field: str) -> InputError:
        """The error about a field that is not there, or a list of another length."""
        model = _model(self.annotation)
        if model is None:
            return self.node.error(self.kind, f"a list of {len(self.node.sequence())} items")
        kind = _kind(_annotation(model, field))
        return self.node.error(f"the field {field}: {kind}", f"no {field}")

    def _hint(self, kind: str, context: Mapping[str, object]) -> str:
        if kind == "less_than_equal" and isinstance(context["le"], int):
            return f", at most {context['le']}"
        if kind == "string_pattern_mismatch" and context["pattern"] == NAME_PATTERN:
            return NAME_HINT
        return self.node.number_hint if kind == "float_type" else ""


def _parts(annotation: object) -> tuple[object, ...]:
    """The type of an annotation, and its metadata."""
    parts: tuple[object, ...] = get_args(annotation)
    return parts if get_origin(annotation) is Annotated else (annotation,)


def _annotation(model: type[FileModel], field: str) -> object:
    info = model.model_fields[field]
    return Annotated[(info.annotation, *info.metadata, None)]


def _model(annotation: object) -> type[FileModel] | None:
    """The model of a mapping, if it has one."""
    return _subclass(_bare(annotation), FileModel)


def _subclass(kind: object, base: type[B]) -> type[B] | None:
    return kind if isinstance(kind, type) and issubclass(kind, base) else None


def _tagged(annotation: object) -> dict[str | int, object]:
    """The members of a union by their tags, which stand in the places of errors."""
    members = [_parts(member) for member in get_args(_parts(annotation)[0])]
    return {x.tag: kind for kind, *said in members for x in said if isinstance(x, Tag)}


def _bare(annotation: object) -> object:
    """The type of an annotation that may be none, without metadata."""
    kind = _parts(annotation)[0]
    if get_origin(kind) in (Union, UnionType):
        return next(_bare(x) for x in get_args(kind) if x is not NoneType)
    return kind if kind is annotation else _bare(kind)


def _kind(annotation: object) -> str:
    """What an annotation says of a value."""
    kind, *metadata = _parts(annotation)
    said = [x.kind for x in metadata if isinstance(x, Written) and x.kind]
    if said:
        return said[-1]
    if get_origin(kind) in (Union, UnionType):
        return next(_kind(x) for x in get_args(kind) if x is not NoneType)
    choices = _subclass(kind, StrEnum)
    if choices is not None:
        return one_of(choices)
    if _model(kind) is not None:
        return "the fields"
    return "" if kind is annotation else _kind(kind)


# --- what the page of formats and editors show ---


@cache
def section_of(model: type[FileModel]) -> Section:
    """The fields of a model as documented, in the order of the class."""
    said = _docstrings(model)
    return Section(
        title=model.model_config.get("title") or model.__name__,
        at=model.at,
        meaning=" ".join((inspect.getdoc(model) or "").split()),
        fields=tuple(_field(model, name, said.get(name, "")) for name in model.model_fields),
    )


def parts(*models: type[FileModel]) -> tuple[Part, ...]:
    """The parts of a format: the models, each followed by the lists and mappings that it has."""
    return tuple(part for model in models for part in _shown(model))


def models_of(model: type[FileModel]) -> Iterator[type[FileModel]]:
    """The model of a mapping, and those of the mappings in it."""
    yield model
    for field in model.model_fields:
        yield from (x for inner in _models_in(_annotation(model, field)) for x in models_of(inner))


def _models_in(annotation: object) -> Iterator[type[FileModel]]:
    model = _model(annotation)
    if model is not None and not _tagged(annotation):
        yield model
    else:
        for part in get_args(annotation):
            yield from _models_in(part)


def _shown(model: type[FileModel]) -> Iterator[Part]:
    section = section_of(model)
    yield section
    for field in section.fields:
        for said in model.model_fields[field.name].metadata:
            if isinstance(said, Forms):
                at = (*model.at, field.name)
                yield Entries(said.title, at, said.meaning, field.kind, said.forms)


def _field(model: type[FileModel], name: str, meaning: str) -> field_schema.Field:
    info = model.model_fields[name]
    written = next((x for x in reversed(info.metadata) if isinstance(x, Written)), Written())
    need = Need.REQUIRED if info.is_required() else Need.OPTIONAL
    return field_schema.Field(
        name,
        meaning,
        _kind(_annotation(model, name)),
        written.example,
        written.need or need,
        default="" if info.is_required() or written.otherwise else _default(info.default),
        otherwise=written.otherwise,
        origin=written.origin or model.origin,
    )


def _default(value: object) -> str:
    """A default as YAML."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case Mapping():
            return "{}"
        case tuple():
            return f"[{', '.join(map(str, cast('Sequence[object]', value)))}]"
        case _:
            return str(value)


def _docstrings(model: type[FileModel]) -> dict[str, str]:
    """What the docstrings of a model and of those that it extends say of fields."""
    classes = [x for x in reversed(model.__mro__) if issubclass(x, FileModel)]
    return dict(pair for x in classes for pair in _own_docstrings(x))


def _own_docstrings(model: type[FileModel]) -> Iterator[tuple[str, str]]:
    for one, after in pairwise(_classes(model.__module__).get(model.__name__, ())):
        match one, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(text))
            ):
                yield name, _phrase(" ".join(text.split()))
            case _:
                pass


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """The bodies of the classes of a module."""
    tree = ast.parse(inspect.getsource(modules[module]))
    return {x.name: x.body for x in tree.body if isinstance(x, ast.ClassDef)}


def _phrase(text: str) -> str:
    """A sentence as a phrase that stands in a table."""
    first = 1 if text.startswith("[") else 0
    is_word = text[first + 1 : first + 2].islower() or text[first + 1 : first + 2] == " "
    start = text[: first + 1].lower() if is_word else text[: first + 1]
    return (start + text[first + 1 :]).removesuffix(".")
