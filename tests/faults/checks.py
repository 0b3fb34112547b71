"""What descriptions may say wrongly, and what nestmap makes of it: an error, a warning or nothing.

Each check changes one text of three small files. docs/errors.md lists all of them.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from tests.pipeline.cli.inputs import MACHINE, MAPPING


class Outcome(StrEnum):
    """What becomes of a description."""

    ERROR = "error"
    WARNING = "warning"
    ACCEPTED = "accepted"


class Check(NamedTuple):
    """A change of a file, what it says then, and what becomes of it.

    ``told`` is a part of the message: where, or what was found.
    """

    file: str
    says: str
    old: str
    new: str
    outcome: Outcome
    told: str = ""


_CONV: Final = """\
- id: %d
  name: %s
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 4, %d, 8, 8, 3, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0}
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [8, 8]
  padding: [[1, 1], [1, 1]]
"""
NETWORK: Final = _CONV % (0, "first", 3) + _CONV % (1, "second", 4)

FILES: Final = {"network": NETWORK, "accelerator": MACHINE, "mapping": MAPPING}
"""The files without a change."""

_ERROR, _WARNING, _ACCEPTED = Outcome
_DIMS: Final = "loop_dims: [B, K, C, OY, OX, FY, FX]"
_SIZES: Final = "loop_sizes: [1, 4, 3, 8, 8, 3, 3]"
_EQUATION: Final = "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]"
_RELATIONS: Final = "[ix=1*ox+1*fx, iy=1*oy+1*fy]"
_BITS: Final = "{W: 8, I: 8, O: 16, O_final: 8}"
_SECOND: Final = "  name: second\n"
_WRITES: Final = 'allocation: ["O, fl", "O, fh"]}\n  outlet'
_UNROLLED: Final = '{D1: ["K, 2"]}'
_LINKS: Final = "{O: O, W: I2, I: I1}"


def _network(says: str, old: str, new: str, outcome: Outcome, told: str = "") -> Check:
    return Check("network", says, old, new, outcome, told)


def _accelerator(says: str, old: str, new: str, outcome: Outcome, told: str = "") -> Check:
    return Check("accelerator", says, old, new, outcome, told)


def _mapping(says: str, old: str, new: str, outcome: Outcome, told: str = "") -> Check:
    return Check("mapping", says, old, new, outcome, told)


def _sizes(says: str, first: str, outcome: Outcome, told: str = "") -> Check:
    """A change of the first loop size."""
    return _network(says, _SIZES, _SIZES.replace("[1,", f"[{first},"), outcome, told)


_FORMS: Final = (
    _network("text that is not YAML", "- id: 0", "- id: [", _ERROR, "text that is not YAML"),
    _network("a field that is unknown", "loop_dims", "loop_dim", _ERROR, "the unknown field"),
    _network("a layer without a field that it needs", "  equation", "  #", _ERROR, "no equation"),
    _network("a field twice", _SECOND, _SECOND * 2, _WARNING, "a second name"),
    _network("a layer that refers to itself by an anchor", "- id: 0", "- &a\n  id: *a", _ERROR),
    _sizes("a loop size of 0", "0", _ERROR, "found 0; expected a positive loop size"),
    _sizes("a negative loop size", "-1", _ERROR, "found -1"),
    _sizes("a loop size with a fraction", "1.5", _ERROR, "found 1.5"),
    _sizes("a loop size in quotes", "'1'", _ERROR, "found '1'"),
    _sizes("an octal number of YAML 1.1", "010", _ERROR, "010, which YAML reads as 8"),
    _sizes("a number of base 60 of YAML 1.1", "1:30", _ERROR, "1:30, which YAML reads as 90"),
    _sizes("a hexadecimal number", "0x1", _ACCEPTED),
    _sizes("a number that begins with a zero", "0_1", _ERROR, "0_1, which YAML reads as 1"),
    _accelerator("a size with underscores", "1000000", "1_000_000", _ACCEPTED),
    _accelerator("an exponent without a point", "r_cost: 10", "r_cost: 1e1", _ERROR, "1.0e-3"),
    _accelerator("a value with a unit", "r_cost: 10", "r_cost: 10 pJ", _ERROR, "'10 pJ'"),
    _accelerator("an infinite energy", "r_cost: 10", "r_cost: .inf", _ERROR, "r_cost: found .inf"),
)

_NETWORKS: Final = (
    _network("two layers with one id", "- id: 1", "- id: 0", _ERROR, "a second layer 0"),
    _network("two layers with one name", "second", "first", _WARNING, "a second layer 'first'"),
    _network("fewer sizes than dimensions", "[1, 4, 3,", "[4, 3,", _ERROR, "6 sizes"),
    _network("a loop dimension twice", "OY, OX, FY", "OX, OX, FY", _ERROR, "a second OX"),
    _network("an index that is no dimension", "I[b][c][iy]", "I[b][c][iz]", _ERROR, "index IZ"),
    _network("an operand twice", "*I[b]", "*W[b]", _ERROR, "a second W"),
    _network("three inputs", "*I[b]", "*V[b]*I[b]", _ERROR, "3 inputs"),
    _network("no equation", _EQUATION, "conv", _ERROR, "found 'conv'"),
    _network("a sum of inputs where products are summed", "*I", "+I", _ERROR, "no sum of products"),
    _network("an assignment where products are summed", "+=", "=", _WARNING, "which sums"),
    _network(
        "a loop that indexes no operand",
        f"{_DIMS}\n  {_SIZES}",
        f"{_DIMS[:-1]}, X]\n  {_SIZES[:-1]}, 5]",
        _ERROR,
        "a loop over X, which indexes no operand",
    ),
    _network(
        "a loop of size 1 that indexes no operand",
        f"{_DIMS}\n  {_SIZES}",
        f"{_DIMS[:-1]}, X]\n  {_SIZES[:-1]}, 1]",
        _ACCEPTED,
    ),
    _network("a relation of three loops", "1*ox+1*fx", "ox+fx+fy", _ERROR, "'ix=ox+fx+fy'"),
    _network("a relation of an unknown loop", "1*ox+1*fx", "ox+fz", _ERROR, "FZ in"),
    _network("a relation of one loop with itself", "1*ox+1*fx", "ox+ox", _ERROR, "'ix=ox+ox'"),
    _network("a dimension derived twice", _RELATIONS, "[ix=ox+fx, ix=oy+fy]", _ERROR, "second IX"),
    _network("the length of no derived dimension", "[IX, IY]", "[IX, OY]", _ERROR, "found 'OY'"),
    _network("one length for two dimensions", "sizes: [8, 8]", "sizes: [8]", _ERROR, "1 items"),
    _network("an axis shorter than its loops reach", "[8, 8]", "[2, 8]", _ERROR, "2 elements with"),
    _network("an axis longer than its loops reach", "[8, 8]", "[80, 8]", _ERROR, "80 elements"),
    _network("padding that no loop reaches", "[[1, 1],", "[[9, 9],", _ERROR, "padding 9 and 9"),
    _network(
        "padding of all that the loops reach",
        "  pr_loop_sizes: [8, 8]\n  padding: [[1, 1],",
        "  padding: [[10, 0],",
        _ERROR,
        "padding 10 and 0",
    ),
    _network("negative padding", "[[1, 1],", "[[-1, 1],", _ERROR, "found -1"),
    _network(
        "a part of a longer axis, without padding",
        "  pr_loop_sizes: [8, 8]\n  padding: [[1, 1], [1, 1]]\n- id: 1",
        "  pr_loop_sizes: [100, 10]\n- id: 1",
        _WARNING,
        "100 elements with padding 0 and 0",
    ),
    _network(
        "steps that leave out most elements",
        _CONV % (0, "first", 3),
        (_CONV % (0, "first", 3)).replace("ix=1*", "ix=1000*").partition("  pr_loop_dims")[0],
        _WARNING,
        "reads 24 of 7,003 elements",
    ),
    _network("a source that is no layer", "{I: 0}", "{I: 7}", _ERROR, "found 7"),
    _network("a source of no operand", "{I: 0}", "{X: 0}", _ERROR, "the operand 'X'"),
    _network("layers in a cycle", "{I: 0}", "{I: 1}", _ERROR, "cycle"),
    _network("a source of another shape", "8, 8, 3, 3]", "9, 8, 3, 3]", _ERROR, ""),
    _network(
        "a source of another precision", _BITS, "{W: 8, I: 8, O: 16}", _WARNING, "with 8 bits an"
    ),
    _network("no precision of an operand", "I: 8, O: 16", "O: 16", _ERROR, "no I"),
    _network("a precision of no operand", _BITS, "{V: 8, W: 8, I: 8, O: 8}", _ERROR, "field 'V'"),
    _network("negative bits", "{W: 8", "{W: -8", _ERROR, "found -8"),
    _network(
        "finished outputs wider than partial sums", "O_final: 8", "O_final: 32", _ERROR, "32 bits"
    ),
    _network(
        "an operator type that is unknown", "type: Conv", "type: Covn", _WARNING, "unknown operator"
    ),
    _network("more than 2**53 multiplications", "[1, 4,", "[2147483647, 2147483647,", _ERROR),
)

_ACCELERATORS: Final = (
    _accelerator("a field that is unknown", "served_dim", "serve_dim", _ERROR, "unknown field"),
    _accelerator("two memories of one name", "  outlet:", "  reg:", _ERROR, "a second reg"),
    _accelerator(
        "two lists of ports of a memory",
        "    latency: 1\n    ports:\n",
        "    latency: 1\n    ports: []\n    ports:\n",
        _WARNING,
        "a second ports",
    ),
    _accelerator("no size of an array dimension", "sizes: [2]", "sizes: []", _ERROR, "sizes"),
    _accelerator("an array of no units", "sizes: [2]", "sizes: [0]", _ERROR, "found 0"),
    _accelerator("a memory without room", "size: 16\n", "size: 0\n", _ERROR, "found 0"),
    _accelerator("a negative energy", "w_cost: 12", "w_cost: -12", _ERROR, "found -12"),
    _accelerator("a memory without a cost", "    w_cost: 12\n", "", _ERROR, "w_cost"),
    _accelerator("a memory of no operand", "operands: [O]", "operands: []", _ERROR, "operands"),
    _accelerator(
        "an unknown array dimension",
        "dimensions: [D1]\n    size: 16",
        "dimensions: [D7]\n    size: 16",
        _ERROR,
        "D7",
    ),
    _accelerator("a memory without ports", "ports:\n      - name: rw", "ports: []\n    #", _ERROR),
    _accelerator("a movement of no operand", '"O, fl", "O, fh"', '"X, fl"', _ERROR, "'X, fl'"),
    _accelerator("an unknown movement", '"O, fl", "O, fh"', '"O, up"', _ERROR, "'O, up'"),
    _accelerator("a write at a read port", '"O, tl", "O, th"', '"O, fh"', _ERROR, "read port"),
    _accelerator("a movement without a port", '"O, fl", "O, fh"', '"O, fl"', _ERROR, "O, fh"),
    _accelerator("a movement twice at a port", '"O, fl", "O', '"O, fh", "O', _ERROR, "twice"),
    _accelerator(
        "a movement at two ports",
        _WRITES,
        _WRITES.replace(
            "\n",
            "\n      - {name: w2, type: write, bandwidth_min: 8, bandwidth_max: 16, "
            'allocation: ["O, fh"]}\n',
            1,
        ),
        _WARNING,
        "'O, fh' at port w2, and at port w before it",
    ),
    _accelerator("least above most bandwidth", "max: 64", "max: 4", _ERROR, "at least"),
    _accelerator("no memory for an operand", "[I1, I2, O]", "[I1, O]", _ERROR, "I2"),
)

_MAPPINGS: Final = (
    _mapping("two entries of one name", MAPPING, MAPPING * 2, _ERROR, "a second mapping"),
    _mapping("an entry that matches nothing", "default", "frist", _WARNING, "'frist'"),
    _mapping("an entry for an operator that the network lacks", "default", "MatMul", _ACCEPTED),
    _mapping("an unknown array dimension", "{D1", "{D7", _ERROR, "array dimension D7"),
    _mapping("more units than there are", "K, 2", "K, 4", _ERROR, "4 units"),
    _mapping("a factor of 0", "K, 2", "K, 0", _ERROR, "'K, 0'"),
    _mapping("a loop dimension that no layer has", "K, 2", "Z, 2", _ERROR, "loop dimension Z"),
    _mapping("more units than a loop iterates", "K, 2", "B, 2", _ACCEPTED),
    _mapping("a loop dimension twice", '"K, 2"', '"K, 2", "K, 1"', _ERROR, "second unrolling of K"),
    _mapping(
        "a hint for no array dimension",
        f"spatial_mapping: {_UNROLLED}",
        "spatial_mapping_hint: {D7: [K]}",
        _WARNING,
        "D7, which has no effect",
    ),
    _mapping(
        "a hint of a dimension that no layer has",
        f"spatial_mapping: {_UNROLLED}",
        "spatial_mapping_hint: {D1: [Z]}",
        _ERROR,
        "loop dimension Z",
    ),
    _mapping("a link of no operand", "W: I2", "Ws: I2", _ERROR, "operand Ws"),
    _mapping("a link to no memory operand", "W: I2", "W: I7", _ERROR, "memory operand I7"),
    _mapping("two operands in one memory operand", "W: I2", "W: I1", _ERROR, "I1, which already"),
    _mapping("links of some operands", _LINKS, "{O: O, W: I2}", _ACCEPTED),
    _mapping(
        "an ordering of other loops",
        _LINKS,
        _LINKS + "\n  temporal_ordering: [[K, 3]]",
        _ERROR,
        "K",
    ),
    _mapping(
        "a temporal ordering of unknown loops",
        _LINKS,
        _LINKS + "\n  temporal_ordering: [[Z, 2]]",
        _ERROR,
        "Z",
    ),
)

CHECKS: Final = (*_FORMS, *_NETWORKS, *_ACCELERATORS, *_MAPPINGS)


def changed(check: Check) -> dict[str, str]:
    """The three files with the change, at the first place where the old text stands."""
    text = FILES[check.file]
    assert check.old in text, check
    return FILES | {check.file: text.replace(check.old, check.new, 1)}
