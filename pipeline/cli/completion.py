"""Completes bundled names in shells; where none matches, shells complete files."""

from collections.abc import Iterable


def complete_accelerator(begun: str) -> list[str]:
    """The bundled single-core accelerators whose names begin like this."""
    from nestmap.pipeline.frontend.bundled import accelerator_names  # noqa: PLC0415 (help is fast)

    return _beginning(begun, accelerator_names())


def complete_cores(begun: str) -> list[str]:
    """The bundled accelerators with several cores whose names begin like this."""
    from nestmap.pipeline.frontend.bundled import multicore_names  # noqa: PLC0415 (help is fast)

    return _beginning(begun, multicore_names())


def complete_mapping(begun: str) -> list[str]:
    """The bundled mappings whose names begin like this."""
    from nestmap.pipeline.frontend.bundled import mapping_names  # noqa: PLC0415 (help is fast)

    return _beginning(begun, mapping_names())


def complete_workload(begun: str) -> list[str]:
    """The bundled networks whose names begin like this."""
    from nestmap.pipeline.frontend.bundled import workload_names  # noqa: PLC0415 (help is fast)

    return _beginning(begun, workload_names())


def _beginning(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(begun)]
