"""The command that explores the designs of a space."""

from nestmap.pipeline.cli.error_handling import report_warnings
from nestmap.pipeline.cli.options.sweep import SweepOptions
from nestmap.pipeline.cli.parameters import command


@command(
    SweepOptions,
    """\
  nestmap sweep space.yaml
  nestmap sweep space.yaml --strategy random --designs 500 --store sweep.duckdb
  nestmap sweep space.yaml --output designs.csv --save-front front""",
)
def sweep(options: SweepOptions) -> None:
    """Explore networks on accelerators that differ in some fields, and find the Pareto front.

    The space states a base accelerator, which of its fields vary, constraints, networks and
    objectives. The whole space is checked before the first design is explored. Prints the designs
    on the front.
    """
    from nestmap.pipeline.cli.sweep import run_sweep_command  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_sweep_command(options)
