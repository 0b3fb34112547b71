"""Step curves over time: the use of a memory (bits) or a channel (bit/cycle), in order of time.

Times are in cycles.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.packed_tables import Job, get, plane_offset, put, set_count


@inlined
def steps_of(job: Job, curves: int, row: int) -> int:
    """The number of steps of a curve."""
    return get(job, curves + 1, row, 0)


@inlined
def _steps_until(job: Job, curves: int, row: int, time: int) -> int:
    """The number of steps of a curve at or before a time."""
    base = plane_offset(job, curves, row)
    low, high = 0, steps_of(job, curves, row)
    while low < high:
        middle = (low + high) // 2
        if job.ints[base + t.STEP * middle + t.TIME] <= time:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def use_at(job: Job, curves: int, row: int, time: int) -> int:
    """The use at a time."""
    place = _steps_until(job, curves, row, time)
    return (
        int(job.ints[plane_offset(job, curves, row) + t.STEP * (place - 1) + t.USED])
        if place
        else 0
    )


@inlined
def last_change(job: Job, curves: int, row: int) -> int:
    """The time of the last step of a curve."""
    last = steps_of(job, curves, row) - 1
    return int(job.ints[plane_offset(job, curves, row) + t.STEP * last + t.TIME])


@kernel
def change_use(job: Job, curves: int, row: int, time: int, by: int) -> None:
    """Adds to (or subtracts from) the use from a time on.

    Notes ``FULL`` if no free step remains.
    """
    ints, base, steps = job.ints, plane_offset(job, curves, row), steps_of(job, curves, row)
    place = _steps_until(job, curves, row, time)
    if place == 0 or ints[base + t.STEP * (place - 1) + t.TIME] != time:
        if steps == get(job, t.CURVE_STEPS, 0, 0):
            set_count(job, t.FAILURE, t.FULL)
            return
        for i in range(base + t.STEP * steps - 1, base + t.STEP * place - 1, -1):
            ints[i + t.STEP] = ints[i]
        ints[base + t.STEP * place + t.TIME] = time
        ints[base + t.STEP * place + t.USED] = (
            ints[base + t.STEP * (place - 1) + t.USED] if place else 0
        )
        steps += 1
        place += 1
        put(job, curves + 1, row, 0, steps)
    for i in range(place - 1, steps):
        ints[base + t.STEP * i + t.USED] += by


@kernel
def below_from(job: Job, curves: int, row: int, time: int, most: int) -> int:
    """The first time (at ``time`` or later) from which at most ``most`` is used for good.

    Else ``NONE``.
    """
    ints, base, steps = job.ints, plane_offset(job, curves, row), steps_of(job, curves, row)
    place = steps - 1
    while place >= 0 and ints[base + t.STEP * place + t.USED] <= most:
        place -= 1
    if place == steps - 1:
        return t.NONE
    return max(time, int(ints[base + t.STEP * (place + 1) + t.TIME])) if place >= 0 else time


@kernel
def below_for(job: Job, curves: int, row: int, time: int, most: int, duration: int) -> int:
    """The first time (at ``time`` or later) from which at most ``most`` is used for so many cycles.

    ``NONE`` if there is none. A curve is constant after its last step.
    """
    ints, base, steps = job.ints, plane_offset(job, curves, row), steps_of(job, curves, row)
    place = max(_steps_until(job, curves, row, time) - 1, 0)
    start = time
    while place < steps:
        after = base + t.STEP * (place + 1) + t.TIME
        if ints[base + t.STEP * place + t.USED] > most:
            if place + 1 == steps:
                return t.NONE
            start = max(time, int(ints[after]))
        elif place + 1 < steps and ints[after] - start >= duration:
            return start
        place += 1
    return start
