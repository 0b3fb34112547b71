"""Rows of a batch that cost the same as an earlier one, to the last bit.

They have the same :mod:`nestmap.costmodel.structure`, and from the tops of their levels follow the
same memories that double-buffer, and the same windows where memories do not.
"""

from __future__ import annotations

from typing import Annotated, Final, final

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import LEVELS, MEMORIES, OPERANDS
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.structure import PARTS, WORDS, Structure, describe, mix
from nestmap.costmodel.utilization import REFUSED, live_share, promise
from nestmap.model.arrays import Codes, Floats, Ints

NO_ROW = -1
NEITHER = -1
STRUCTURES: Final = 2048
ROWS: Final = 4096
PLACES: Final = 8192  # of a table: a power of two, twice as many


@final
class KnownRows:
    """Structures (``a``) and rows (``b``), which have a structure and windows of links (``q``)."""

    structures: int
    structure_at: Annotated[Ints, (PLACES,)]  # [hash] 1 + a; 0: none
    known_word: Annotated[Ints, (STRUCTURES, PARTS * WORDS)]  # [a] words
    held: Annotated[Floats, (STRUCTURES, OPERANDS, LEVELS)]  # [a, x, l] as in ``Work``
    rows: int
    row_at: Annotated[Ints, (PLACES,)]  # [hash] 1 + b; 0: none
    structure: Annotated[Ints, (ROWS,)]  # [b] a
    window: Annotated[Ints, (ROWS, PARTS)]  # [b, q]
    row: Annotated[Ints, (ROWS,)]  # [b]
    # of the mapping that was looked for last
    last_structure: int
    links: int
    # [q] 0 if the memory below the link double-buffers, else the ir loops at its top
    last_window: Annotated[Ints, (PARTS,)]
    window_mixed: Annotated[Ints, (PARTS,)]  # [q] their shares of the hash
    window_hash: int
    live: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] as ``effective`` in ``Work``
    promised: Annotated[Floats, (MEMORIES,)]  # [m] as in ``Work``
    last_row: int


@kernel
def find_row(
    problem: FlatProblem, structure: Structure, known: KnownRows, order: Codes, cuts: Codes
) -> int:
    """The first row that costs the same as this mapping, or ``NO_ROW``."""
    describe(problem, structure, order, cuts)
    if structure.is_new == 1:
        known.last_structure = _find_structure(structure, known)
    elif structure.has_new_tops == 0:
        return int(known.last_row)
    if known.last_structure == NEITHER:
        return NO_ROW
    _find_windows(problem, structure, known)
    return _find_windows_row(structure, known)


@kernel
def remember_row(
    problem: FlatProblem, work: Work, structure: Structure, known: KnownRows, row: int
) -> None:
    """Adds the mapping that was looked for last, whose cost is in ``work``, if there is space."""
    known.last_row = row
    if known.last_structure == NEITHER:
        if known.structures == STRUCTURES:
            return
        _add_structure(problem, work, structure, known)
        _find_windows(problem, structure, known)
    if known.rows < ROWS:
        _add_row(structure, known, row)


@kernel
def _find_structure(structure: Structure, known: KnownRows) -> int:
    """The structure that equals the one described last."""
    at = structure.hash & (PLACES - 1)
    while known.structure_at[at] > 0:
        a = known.structure_at[at] - 1
        different = 0
        for i in range(structure.words):
            different |= known.known_word[a, i] ^ structure.word[i]
        if different == 0:
            return int(a)
        at = (at + 1) & (PLACES - 1)
    return NEITHER


@kernel
def _add_structure(
    problem: FlatProblem, work: Work, structure: Structure, known: KnownRows
) -> None:
    a = known.structures
    for i in range(structure.words):
        known.known_word[a, i] = structure.word[i]
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            known.held[a, x, level] = work.held[FRACTIONAL, x, level]
    at = structure.hash & (PLACES - 1)
    while known.structure_at[at] > 0:
        at = (at + 1) & (PLACES - 1)
    known.structures += 1
    known.structure_at[at] = known.structures
    known.last_structure = a


@kernel
def _find_windows(problem: FlatProblem, structure: Structure, known: KnownRows) -> None:
    """Finds which memories double-buffer, and the windows of transfers where they do not."""
    _find_live_shares(problem, structure, known)
    q = 0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            memory = problem.memory[x, level]
            promised = promise(float(known.promised[memory]), known.live[x, level])
            if promised != REFUSED:
                known.promised[memory] = promised
            if level < problem.levels[x]:
                window = int(structure.top_irrelevant[x, level]) if promised == REFUSED else 0
                _put_window(known, q, window)
                q += 1
    known.links = q


@kernel
def _put_window(known: KnownRows, q: int, window: int) -> None:
    """Writes a window and its share of the hash."""
    if window != known.last_window[q]:
        mixed = mix(q, (window, 0, 0, 0))
        known.window_hash ^= known.window_mixed[q] ^ mixed
        known.last_window[q], known.window_mixed[q] = window, mixed


@kernel
def _find_live_shares(problem: FlatProblem, structure: Structure, known: KnownRows) -> None:
    """Finds the shares of memories that are live at once, where these count."""
    for memory in range(problem.memories):
        known.promised[memory] = 0.0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            if structure.has_top[x, level] == 1:
                memory, held = problem.memory[x, level], known.held[known.last_structure, x, level]
                capacity = float(problem.memory_size[memory])
                known.live[x, level] = live_share(held, structure.top_relevant[x, level], capacity)
                known.promised[memory] += known.live[x, level]


@kernel
def _hash(structure: Structure, known: KnownRows) -> int:
    return int((known.window_hash ^ structure.hash) & (PLACES - 1))


@kernel
def _find_windows_row(structure: Structure, known: KnownRows) -> int:
    """The row with the structure and the windows of the mapping that was looked for last."""
    at = _hash(structure, known)
    while known.row_at[at] > 0:
        b = known.row_at[at] - 1
        different = known.structure[b] ^ known.last_structure
        for q in range(known.links):
            different |= known.window[b, q] ^ known.last_window[q]
        if different == 0:
            known.last_row = int(known.row[b])
            return known.last_row
        at = (at + 1) & (PLACES - 1)
    return NO_ROW


@kernel
def _add_row(structure: Structure, known: KnownRows, row: int) -> None:
    b = known.rows
    known.structure[b], known.row[b] = known.last_structure, row
    for q in range(known.links):
        known.window[b, q] = known.last_window[q]
    at = _hash(structure, known)
    while known.row_at[at] > 0:
        at = (at + 1) & (PLACES - 1)
    known.rows += 1
    known.row_at[at] = known.rows
