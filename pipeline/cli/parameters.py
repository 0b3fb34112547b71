"""Commands whose parameters are the fields of an options record."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, is_dataclass, make_dataclass
from enum import StrEnum
from inspect import Parameter, signature
from types import GenericAlias, NoneType, UnionType
from typing import (
    Annotated,
    Final,
    Literal,
    NamedTuple,
    Protocol,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    final,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typer
from typer._click import Context
from typer.core import TyperArgument, TyperCommand, TyperOption

from nestmap.pipeline.cli.error_handling import report_errors
from nestmap.pipeline.util.option import Group, Option

# --- help of a command: its arguments by name, its options in groups ---

OTHER: Final = "Options"
"""The group of options that name none; it comes last."""


class _Formatter(Protocol):
    """What writes the sections of a help text."""

    def section(self, name: str, /) -> AbstractContextManager[None]: ...
    def write_dl(self, rows: list[tuple[str, str]], /) -> None: ...


@final
class GroupedCommand(TyperCommand):
    """A command whose help has a section for each group of options."""

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """The words after the command in its usage: optional ones in brackets."""
        arguments = (x for x in self.params if isinstance(x, TyperArgument))
        words = (x.display_name_raw if x.required else f"[{x.display_name_raw}]" for x in arguments)
        return [self.options_metavar or "", *words]

    def format_options(self, ctx: Context, formatter: _Formatter) -> None:
        """Writes the sections: arguments, then groups in the order of their first options."""
        sections: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            if isinstance(parameter, TyperArgument):
                sections["Arguments"].append((parameter.display_name_raw, row[1]))
            elif isinstance(parameter, TyperOption):
                sections[parameter.rich_help_panel or OTHER].append(row)
        for name in sorted(sections, key=lambda name: name == OTHER):
            with formatter.section(name):
                formatter.write_dl(sections[name])


# --- commands whose parameters are the fields of an options record ---

Record = TypeVar("Record")

_ONLY_IN_PYTHON: Final = {NoneType, StrEnum}
"""Types of fields that the command line does not offer."""


def add_command(
    app: typer.Typer, run: Callable[[Record], None], record: type[Record], examples: str
) -> None:
    """Adds a command that runs a function on a record of its options.

    Each field of the record is a parameter, described by an :class:`Option`, or another record
    of parameters, which may name the group of its options as ``GROUP``. The function gives the
    command its name and, by its docstring, its help.
    """

    def run_command(arguments: object) -> None:
        with report_errors():
            run(_record(record, vars(arguments)))

    # Typer calls its target with a keyword argument per parameter; the target here is a class with
    # a field for each of them.
    arguments = make_dataclass(
        "Arguments",
        [x.declared() for x in _parameters(record)],
        namespace={"__post_init__": run_command},
        kw_only=True,
        eq=False,
        repr=False,
    )
    name = run.__name__.removesuffix("_")
    made = app.command(
        name, cls=GroupedCommand, help=run.__doc__, epilog=f"\b\nExamples:\n{examples}"
    )
    made(arguments)


def command(
    record: type[Record], examples: str
) -> Callable[[Callable[[Record], None]], Callable[[typer.Typer], None]]:
    """Makes of a function on a record of options what adds it as a command to a command line."""
    return lambda run: lambda app: add_command(app, run, record, examples)


@final
@dataclass(frozen=True, slots=True)
class NumberOrName:
    """Reads a number that is at least ``minimum``, or one of some names."""

    names: tuple[str, ...]
    minimum: int

    def __call__(self, text: str) -> int | str:
        """The number, or the name."""
        if text in self.names:
            return text
        if text.isdecimal() and int(text) >= self.minimum:
            return int(text)
        names = ", ".join(self.names)
        message = f"{text!r} is neither {names} nor a number of at least {self.minimum}."
        raise typer.BadParameter(message)


@final
@dataclass(frozen=True, slots=True)
class _Parameter:
    """A field of a record; ``kind`` is the type of its value, or of each of several values."""

    name: str
    kind: object
    has_several: bool
    default: object
    option: Option
    group: str | None

    @property
    def shown_default(self) -> object:
        """The default on the command line; ``...``: it must be given."""
        if self.default is Parameter.empty:
            return ...
        if self.has_several:
            return None
        if self.kind is bool:
            return bool(self.default)
        if isinstance(self.kind, NumberOrName) and isinstance(self.default, int):
            return str(self.default)  # is read like an argument
        return self.option.default if self.default is None else self.default

    def declared(self) -> tuple[str, object, object]:
        """The name, type and default with which Typer makes the parameter."""
        kind = GenericAlias(list, (self.kind,)) if self.has_several else self.kind
        if isinstance(kind, NumberOrName):
            kind = str
        if self.option.is_argument:
            return self.name, kind, self._argument()
        return self.name, kind, self._option()

    def _argument(self) -> object:
        return typer.Argument(
            self.shown_default,
            metavar=self.option.metavar,
            help=self.option.help,
            autocompletion=self.option.complete,
            show_default=False,
        )

    def _option(self) -> object:
        default = self.shown_default
        choice = self.kind if isinstance(self.kind, NumberOrName) else None
        flags = self.option.flags or "--" + self.name.replace("_", "-")
        return typer.Option(
            default,
            *flags.split(),
            metavar=self.option.metavar,
            help=self.option.help,
            min=None if choice else self.option.minimum,
            max=self.option.maximum,
            parser=choice,
            autocompletion=self.option.complete,
            rich_help_panel=self.group,
            show_default=default not in {None, ...},
        )

    def value(self, given: object) -> object:
        """The value of the field for a value given on the command line."""
        if not self.has_several:
            return given
        items = cast("list[object] | None", given)
        return tuple(items) if items else self.default


class _Nested(NamedTuple):
    """A field that is a record of parameters, and the section of the help for them."""

    name: str
    kind: type
    group: str | None


def _parameters(record: type, group: str | None = None) -> Iterator[_Parameter]:
    """The fields of a record and of the records in it."""
    for field in _fields(record, group):
        if isinstance(field, _Parameter):
            yield field
        else:
            yield from _parameters(field.kind, field.group)


def _record(record: type[Record], values: Mapping[str, object]) -> Record:
    """A record with the values of its parameters."""
    make: Callable[..., Record] = record
    arguments: dict[str, object] = {}
    for field in _fields(record):
        if isinstance(field, _Parameter):
            arguments[field.name] = field.value(values[field.name])
        else:
            arguments[field.name] = _record(field.kind, values)
    if is_typeddict(record):  # of which an option that is not given is no part
        arguments = {name: x for name, x in arguments.items() if x is not None and x is not False}
    return make(**arguments)


def _fields(record: type, group: str | None = None) -> Iterator[_Parameter | _Nested]:
    """The fields of a record: parameters, and other records."""
    hints: Mapping[str, object] = get_type_hints(record, include_extras=True)
    group = group or getattr(record, "GROUP", None)
    defaults: Mapping[str, object] = dict.fromkeys(hints)
    if not is_typeddict(record):
        defaults = {name: x.default for name, x in signature(record).parameters.items()}
    for name, default in defaults.items():
        kind, description = hints[name], None
        if get_origin(kind) is Annotated:
            kind, description = cast("tuple[object, object]", get_args(kind))
        if _is_record(kind):
            yield _Nested(name, kind, description.name if isinstance(description, Group) else None)
        else:
            yield _parameter(name, default, hints[name], group)


def _is_record(kind: object) -> TypeGuard[type]:
    return isinstance(kind, type) and (is_typeddict(kind) or is_dataclass(kind))


def _parameter(name: str, default: object, hint: object, group: str | None) -> _Parameter:
    kind, option = cast("tuple[object, object]", get_args(hint))
    if not isinstance(option, Option):
        raise TypeError(f"{name}: {option!r} is no Option")
    kind, has_several = _on_command_line(kind, option)
    group = option.group or group
    return _Parameter(name, kind, has_several, default, option, group)


def _on_command_line(hint: object, option: Option) -> tuple[object, bool]:
    """The type of a value on the command line, and whether there may be several."""
    if get_origin(hint) in {tuple, Sequence}:
        return get_args(hint)[0], True
    if get_origin(hint) not in {Union, UnionType}:
        return hint, False
    kinds = [x for x in get_args(hint) if x not in _ONLY_IN_PYTHON]
    names = [x for x in kinds if get_origin(x) is Literal]  # rather than str
    if names and int in kinds:
        return NumberOrName(get_args(names[0]), option.minimum or 0), False
    return (names or kinds)[0], False
