"""Help of a command: its arguments by name, its options in groups."""

from __future__ import annotations

from collections import defaultdict
from contextlib import AbstractContextManager
from typing import Final, Protocol, final

from typer._click import Context
from typer.core import TyperArgument, TyperCommand, TyperOption

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
