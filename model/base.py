"""The base class of all domain models: immutable, strict, identified by a content hash."""

import hashlib
import json
from functools import cached_property
from typing import Final, TypeVar

from pydantic import BaseModel

from nestmap.model.display import html

M = TypeVar("M", bound="Frozen")

_REPLACED: Final = frozenset(
    name for name in dir(BaseModel) if hasattr(getattr(BaseModel, name, None), "__deprecated__")
)
"""What remains of Pydantic 1, such as ``dict`` and ``copy``, and only warns."""


class Frozen(BaseModel, frozen=True, extra="forbid", strict=True):
    """Base of every domain model: immutable, strict, hashable, unknown fields are rejected.

    Each subclass repeats ``frozen=True``: type checkers read the class keyword, not
    ``model_config``, so this is what makes an assignment to a field a type error.
    """

    _repr_html_ = html

    def __dir__(self) -> list[str]:
        """The names to complete: without those that Pydantic has replaced."""
        return [name for name in super().__dir__() if name not in _REPLACED]

    @cached_property
    def content_hash(self) -> str:
        """32 hex digits determined by the class name and all field values.

        It is the same on every machine and in every session; the store uses it as a key. Fields
        with their default value are left out, so that adding a field with a default changes no
        hash.
        """
        value = self.model_dump(mode="json", exclude_defaults=True)
        payload = {"type": type(self).__name__, "value": value}
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def copy_with(model: M, updates: dict[str, object]) -> M:
    """A validated copy of ``model`` with the fields named in ``updates`` replaced.

    Raises:
        pydantic.ValidationError: where a new value is not valid.
    """
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    return type(model).model_validate(fields | updates)
