"""Unpickling that calls nothing but the classes of nestmap's data.

A pickle names what is called to rebuild its items. :func:`pickle.loads` calls anything that it
names, so a file of somebody else can run any program.
"""

from __future__ import annotations

import pickle
from dataclasses import is_dataclass
from enum import Enum
from io import BytesIO
from typing import Final, cast, final

from nestmap.model import Frozen

_BUILTINS: Final = frozenset({"bytearray", "complex", "frozenset", "range", "set"})
_STANDARD: Final = frozenset({"datetime", "pathlib", "uuid"})
_ARRAYS: Final = frozenset({"_frombuffer", "_reconstruct", "dtype", "ndarray", "scalar"})
"""What rebuilds NumPy's arrays, in whichever module this version of NumPy has them."""


class RefusedError(pickle.UnpicklingError):
    """A pickle names something that is not data: ``os.system``."""


def unpickle_data(data: bytes, kind: type[object]) -> object:
    """The item in a pickle of data: built-in values, arrays, nestmap's models, and ``kind``.

    Raises:
        RefusedError: if the pickle names anything else.
        Exception: of many classes, if it is not a whole pickle.
    """
    return _DataUnpickler(data, kind).load()


@final
class _DataUnpickler(pickle.Unpickler):
    def __init__(self, data: bytes, kind: type[object]) -> None:
        super().__init__(BytesIO(data))
        self._kind = kind

    def find_class(self, module_name: str, global_name: str, /) -> object:
        if (module_name, global_name) == ("builtins", "getattr"):
            return _member  # what Python before 3.11.4 names for the members of enumerations
        if _may_be_data(module_name, global_name):
            found: object = super().find_class(module_name, global_name)
            if found is self._kind or _is_data(found, module_name):
                return found
        elif (module_name, global_name) == (self._kind.__module__, self._kind.__qualname__):
            return self._kind
        raise RefusedError(f"{module_name}.{global_name}")


def _member(owner: object, name: str) -> Enum:
    """The member of an enumeration; other attributes of classes are functions that may act."""
    if not (isinstance(owner, type) and issubclass(owner, Enum)):
        raise RefusedError("builtins.getattr")
    return owner[name]


def _may_be_data(module: str, name: str) -> bool:
    """Whether the module may be imported, which runs it."""
    package = _package(module)
    if package == "numpy":
        return name in _ARRAYS
    return package in {"nestmap", *_STANDARD} or (module == "builtins" and name in _BUILTINS)


def _is_data(found: object, module: str) -> bool:
    """Whether calling it makes an item, and does nothing else."""
    package = _package(module)
    if package == "numpy":
        return True
    if not isinstance(found, type) or _package(found.__module__) != package:
        return False
    return package != "nestmap" or _is_model(cast("type[object]", found))


def _is_model(found: type[object]) -> bool:
    """Whether making an object of this class only sets its fields; stages do more if called."""
    acts = any({"__call__", "__post_init__"} & base.__dict__.keys() for base in found.__mro__)
    return not acts and (issubclass(found, Frozen | Enum | tuple) or is_dataclass(found))


def _package(module: str) -> str:
    return module.partition(".")[0]
