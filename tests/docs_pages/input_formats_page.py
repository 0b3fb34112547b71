"""Writes docs/input-formats.md: ``python -m tests.docs_pages.input_formats_page``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, get_args

from nestmap.pipeline.cli.options import common
from nestmap.pipeline.frontend.bundled import (
    accelerator_names,
    default_mapping_for,
    multicore_names,
    resolve_accelerator,
    resolve_multicore,
)
from nestmap.pipeline.frontend.data import bundled_cores
from nestmap.pipeline.frontend.networks import network_dims, network_names
from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    KEY,
    Entries,
    Field,
    Need,
    Origin,
    Part,
    Section,
)
from nestmap.pipeline.frontend.yaml.load import DEEPEST, LONGEST_TEXT, MOST_VALUES
from nestmap.pipeline.util.option import Option
from tests.docs_pages.input_formats import FORMATS, ONNX_ATTRIBUTES, Format

PAGE: Final = Path(__file__).parents[2] / "docs" / "input-formats.md"

_HEAD: Final = f"""\
# Input files

<!-- Written by tests/docs_pages/input_formats_page.py out of what the parsers declare. -->

nestmap reads ZigZag's files as they are, and for several cores Stream's; fields that it adds to
them are marked *nestmap*, those of Stream's in ZigZag's files *Stream*.
Accelerators, mappings and workloads are YAML, networks may be ONNX. For each format there is a
complete example, then a table for each of its parts: what a field means, what must stand there and
in which unit, and what counts where it is left out.

- **Files** are text in UTF-8 with YAML 1.1 in it. Anchors, aliases and merged keys (`<<`) work.
  Collections are nested at most {DEEPEST} deep, with at most {MOST_VALUES:,} values of at most
  {LONGEST_TEXT:,} characters. No mapping has a key twice.
- **Fields that are not known** are errors, which name the line and the field that was probably
  meant. An optional field without a value counts as left out.
- **Numbers**: YAML 1.1 reads `1e-3` as a text; write `1.0e-3` or `0.001`. None is above 2^62.
  Octal numbers (`010`) and numbers of base 60 (`1:30`) are errors.
- **Switches** are `true` or `false`, also `yes`, `no`, `on`, `off`.
- **Names** of dimensions and operands are a letter, then letters, digits or `_`, at most 32. Small
  letters of loop dimensions count as capitals.
- **Units** are not written: bit, cycles, bit/cycle, pJ, mW, ns, nm and V. All areas of a
  description have the same unit; computed ones are mm².
- **Editors** complete and check files by the JSON Schemas that `nestmap schema` prints.
- **In Python**, dictionaries and lists with the content of a file can be given instead of it;
  errors then name the field without a line.
- **Paths** are written as errors write them; `{KEY}` stands for any name, `{ITEM}` for any item of
  a list.

See also [in-memory computing](imc.md), [what memories cost](memory-costs.md), and
[ONNX operators](operators.md).
"""

_ONNX: Final = """\
## ONNX models

Layers, their sizes and precisions follow from the model: see [ONNX operators](operators.md).
Beside it there are five options, and three attributes of its nodes.
"""

_PRESETS: Final = """\
## Bundled files

Where a file is asked for, these names will do as well; `nestmap examples` prints them with sizes.
"""

_OTHERS: Final = """\
The mapping `free` fixes nothing. Networks of the onnx package are known as `light:resnet50` and the
like; others are generated:
"""


def input_formats_page() -> str:
    """The page: rules, then every format, ONNX models and bundled files."""
    blocks = [_HEAD, *(block for each in FORMATS for block in _format(each)), *_onnx(), *_presets()]
    return "\n".join(blocks)


def _format(given: Format) -> Iterable[str]:
    text = given.example.read_text(encoding="utf-8")
    yield f"## {given.title}\n\n{given.meaning}\n\n```yaml\n{text}```\n"
    for part in given.parts:
        yield _part(part, given.origin)


def _part(part: Part, origin: Origin = Origin.ZIGZAG) -> str:
    place = f"At `{path_text(part.at)}`. " if part.at else ""
    body = _fields(part, origin) if isinstance(part, Section) else _forms(part)
    return f"### {part.title}\n\n{place}{part.meaning}\n\n{body}"


def path_text(at: Sequence[str]) -> str:
    """A path as errors write it."""
    return ".".join(at).replace(f".{ITEM}", ITEM)


def _fields(section: Section, origin: Origin) -> str:
    """The fields, those that must be there first, and in words those that say nothing."""
    order = (Need.REQUIRED, Need.CONDITIONAL, Need.OPTIONAL)
    rows = [_row(field, origin) for need in order for field in section.fields if field.need is need]
    return _table(("field", "meaning", "value", "default", "example"), rows) + "".join(
        f"\n{title}: {notes}.\n"
        for title, need in (
            (f"Accepted because {origin}'s files have them, and ignored", Need.IGNORED),
            ("Refused", Need.REFUSED),
        )
        if (notes := _notes(section, need))
    )


def _row(field: Field, origin: Origin) -> tuple[str, ...]:
    example = f"`{field.example}`" if field.example else "above"
    kind = field.kind.replace("*", r"\*")
    mark = f" *{field.origin}*" if field.origin not in (Origin.ZIGZAG, origin) else ""
    return f"`{field.name}`{mark}", field.meaning, kind, _default(field), example


def _default(field: Field) -> str:
    if field.need is Need.OPTIONAL:
        return f"`{field.default}`" if field.default else field.otherwise
    return " ".join(("**required**", field.otherwise)).strip()


def _notes(section: Section, need: Need) -> str:
    fields = (field for field in section.fields if field.need is need)
    return ", ".join(f"`{field.name}` ({field.meaning})" for field in fields)


def _forms(entries: Entries) -> str:
    rows = [(f"`{form.written}`", form.meaning) for form in entries.forms]
    return _table(("written", "meaning"), rows)


def _onnx() -> Iterable[str]:
    options = {
        "--dim": common.Dims,
        "--float-bits": common.FloatBits,
        "--sum-bits": common.SumBits,
        "--value": common.InputValues,
        "--trust-shapes": common.TrustShapes,
    }
    rows = (_option(*item) for item in options.items())
    yield _ONNX
    yield _table(("option", "value", "meaning"), rows)
    yield _part(ONNX_ATTRIBUTES)


def _option(name: str, annotated: object) -> tuple[str, str, str]:
    """An option as the command line explains it."""
    option = next(item for item in get_args(annotated) if isinstance(item, Option))
    return f"`{name}`", f"`{option.metavar}`" if option.metavar else "", option.help


def _presets() -> Iterable[str]:
    yield _PRESETS
    machines = [
        (f"`{name}`", _about(resolve_accelerator(name)), "yes" if default_mapping_for(name) else "")
        for name in accelerator_names()
    ]
    yield _table(("accelerator", "what it is", "has a mapping of its name"), machines)
    several = [(f"`{name}`", _about(resolve_multicore(name))) for name in multicore_names()]
    yield _table(("several cores", "what they are"), several)
    cores = [(f"`{name}`", _about(file)) for name, file in bundled_cores().items()]
    yield _table(("core", "what it is"), cores)
    yield _OTHERS
    alike = groupby(network_names(), key=network_dims)
    rows = [(", ".join(f"`{name}`" for name in names), _sizes(dims)) for dims, names in alike]
    yield _table(("networks", "what `--dim` sets, with defaults"), rows)


def _about(file: Path) -> str:
    """The first sentence of the comment that a file begins with."""
    lines = file.read_text(encoding="utf-8").partition("\n#\n")[0].splitlines()
    text = " ".join(line.removeprefix("# ") for line in lines)
    return re.split(r"\.(?: (?=[A-Z])|$)", text, maxsplit=1)[0]


def _sizes(dims: Mapping[str, int]) -> str:
    return ", ".join(f"`{name}={size}`" for name, size in dims.items())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (heads, ["---"] * len(heads), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(input_formats_page(), encoding="utf-8")
