# jsonschema has no annotations; these are the ones of what the tests use.
from collections.abc import Iterator

class ValidationError(Exception):
    message: str

class Draft7Validator:
    def __init__(self, schema: object) -> None: ...
    @classmethod
    def check_schema(cls, schema: object) -> None: ...
    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...
