"""``nestmap schema``: prints the JSON Schema of a YAML format."""

import json

from nestmap.pipeline.cli.options.view import SchemaOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show_text
from nestmap.pipeline.frontend.yaml.json_schema import FileFormat, json_schema
from nestmap.pipeline.util.atomic_files import write_json


def run_schema(options: SchemaOptions) -> None:
    """Prints the schema, or writes it to a file.

    Raises:
        InputError: if the file cannot be written.
    """
    schema = json_schema(FileFormat(options.format))
    if options.output is None:
        show_text(json.dumps(schema, indent=2).splitlines())
        return
    check_target("--output", options.output, ())
    write_json(options.output, schema)
    print_note(f"Written to {options.output}.")
