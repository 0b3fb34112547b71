"""Reads the operator set versions of an ONNX model and looks up operator schemas."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import onnx
from onnx import defs, helper

from nestmap.model import InputError

NEWEST: Final = defs.onnx_opset_version()
"""The newest version of the standard operators in the installed onnx package."""

MICROSOFT: Final = "com.microsoft"
"""The domain of the operators of ONNX Runtime."""

BLOCKED: Final = "com.microsoft.nchwc"
CHANNELS_LAST: Final = "com.ms.internal.nhwc"
"""The domains of what ONNX Runtime writes for images in blocks of channels, or with these last."""

LARGEST_BLOCK: Final = 16
"""The largest number of channels of a block in ONNX Runtime's own layout."""

_LONG_STANDARD: Final = "ai.onnx"
_FIRST_IR_WITH_OPSETS: Final = 3


def plain_domain(domain: str | bytes) -> str:
    """The domain of an operator as text, with one name for the standard domain."""
    name = as_text(domain)
    return "" if name == _LONG_STANDARD else name


def as_text(value: str | bytes) -> str:
    """A text field; protobuf returns bytes if it is not UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def operator_sets(
    model: onnx.ModelProto, domains: Iterable[str], where: str
) -> list[onnx.OperatorSetIdProto]:
    """The version of each domain, including domains for which the model states none.

    Args:
        model: the model.
        domains: the domains of its nodes.
        where: the model, for messages.

    Raises:
        InputError: if the version of the standard operators is missing, ambiguous or unknown to
            the onnx package.
    """
    versions = _stated(model.opset_import, where)
    for domain in dict.fromkeys(domains):
        if domain not in versions:
            versions[domain] = _version(domain, model, where)
    standard = versions.get("", 1)
    if not 1 <= standard <= NEWEST:
        raise InputError(
            where,
            f"version {standard} of the standard operators (opset_import)",
            f"a version from 1 to {NEWEST}; onnx.version_converter converts others",
        )
    return [helper.make_opsetid(domain, version) for domain, version in versions.items()]


def version_of(domain: str, opsets: Iterable[onnx.OperatorSetIdProto]) -> int:
    """The version of a domain; 1 if not stated."""
    return next((entry.version for entry in opsets if entry.domain == domain), 1)


def schema_of(
    node: onnx.NodeProto, opsets: Iterable[onnx.OperatorSetIdProto]
) -> defs.OpSchema | None:
    """The ONNX schema of a node's operator; ``None`` if ONNX does not define it."""
    return _schema(node.op_type, version_of(node.domain, opsets), node.domain)


@lru_cache(maxsize=4096)
def _schema(operator: str, version: int, domain: str) -> defs.OpSchema | None:
    try:
        return defs.get_schema(operator, version, domain)
    except (defs.SchemaError, TypeError):  # TypeError: a version of more than 32 bits
        return None


def _version(domain: str, model: onnx.ModelProto, where: str) -> int:
    if domain == "" and model.ir_version >= _FIRST_IR_WITH_OPSETS:
        raise InputError(
            where,
            "no version of the standard operators (opset_import)",
            f"a version from 1 to {NEWEST}",
        )
    return 1


def _stated(entries: Iterable[onnx.OperatorSetIdProto], where: str) -> dict[str, int]:
    versions: dict[str, int] = {}
    for entry in entries:
        domain = plain_domain(entry.domain)
        if versions.setdefault(domain, entry.version) != entry.version:
            raise InputError(
                where,
                f"versions {versions[domain]} and {entry.version} of domain {domain!r}",
                "one version for each domain",
            )
    return versions
