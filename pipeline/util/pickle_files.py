"""Pipeline items in pickle files: one per file, or numbered in a folder.

A pickle can run any program when it is read. Unless a file is trusted, only data is read:
:mod:`nestmap.pipeline.util.pickle_files`.
"""

import pickle
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Final, TypeVar, cast, final

from nestmap.model import Frozen, InputError
from nestmap.pipeline.util.atomic_files import os_errors_as_input_errors, part_of, replacing

# --- unpickling that calls nothing but the classes of nestmap's data ---
# A pickle names what is called to rebuild its items. :func:`pickle.loads` calls anything that it
# names, so a file of somebody else can run any program.

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


# --- pipeline items in pickle files: one per file, or numbered in a folder ---

A = TypeVar("A")

ENDING: Final = ".pickle"
_DIGITS: Final = 6


def write_pickle(path: Path, item: object) -> None:
    """Writes an item to a file atomically; creates missing parent folders.

    Raises:
        InputError: if the file cannot be written, or the item cannot be pickled (as a stream).
    """
    data = _pickled(path, item)
    with os_errors_as_input_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_bytes(data)


def read_pickle(path: Path, kind: type[A], *, trusted: bool = False) -> A:
    """The item in a file, which must be of the given class.

    Args:
        path: the file.
        kind: the class of the item.
        trusted: whether the file may call any function, and so run any program. Otherwise it may
            hold built-in values, arrays, nestmap's models, and objects of ``kind``.

    Raises:
        InputError: if the file cannot be read, contains something else, or calls more.
    """
    wanted = f"a pickle file that holds {kind.__name__}"
    try:
        data = path.read_bytes()
        item: object = pickle.loads(data) if trusted else unpickle_data(data, kind)
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), wanted) from None
    except RefusedError as error:
        found = f"a pickle that calls {error}"
        expected = "data alone; trusted=True calls what it names, which can be any program"
        raise InputError(str(path), found, expected) from None
    except Exception:  # on data that is not a pickle, pickle raises errors of many classes
        raise InputError(str(path), "data that is truncated or not a pickle", wanted) from None
    if not isinstance(item, kind):
        raise InputError(str(path), f"a pickle of {type(item).__name__}", wanted)
    return item


def dump(folder: Path, item: object) -> Path:
    """Writes an item to the next free number in a folder; returns the path.

    Several threads or processes may write into one folder.

    Raises:
        InputError: as for :func:`write_pickle`.
    """
    data = _pickled(folder, item)
    with os_errors_as_input_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = _claim(folder)
    with replacing(path) as part:
        part.write_bytes(data)
    return path


def dumped(folder: Path) -> tuple[Path, ...]:
    """The files that :func:`dump` has written into a folder, in their order.

    Raises:
        InputError: if the folder does not exist.
    """
    if not folder.is_dir():
        raise InputError(str(folder), "no such folder", "a folder that DumpStage has written")
    return tuple(sorted(folder.glob(f"*{ENDING}"), key=_number))


def load(folder: Path, kind: type[A], *, trusted: bool = False) -> Iterator[A]:
    """The items that were dumped into a folder, one at a time.

    Raises:
        InputError: at once as for :func:`dumped`, while iterating as for :func:`read_pickle`.
    """
    return (read_pickle(path, kind, trusted=trusted) for path in dumped(folder))


def _pickled(where: Path, item: object) -> bytes:
    try:
        return pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        found = f"{type(item).__name__}, which cannot be saved ({error})"
        raise InputError(str(where), found, "data; ListifyStage turns a stream into data") from None


def _claim(folder: Path) -> Path:
    """A path reserved by creating its temporary file."""
    number = max(map(_number, dumped(folder)), default=-1) + 1
    while True:
        path = folder / f"{number:0{_DIGITS}}{ENDING}"
        number += 1
        try:
            part_of(path).touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():
            return path
        part_of(path).unlink(missing_ok=True)  # the writer of that path may have removed it already


def _number(path: Path) -> int:
    if not path.stem.isdecimal():
        raise InputError(
            str(path), "a name that is not a number", f"dumped files only, as 0{ENDING}"
        )
    return int(path.stem)
