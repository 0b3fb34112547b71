"""The commands that show networks, accelerators and recorded runs."""

from nestmap.pipeline.cli.error_handling import report_warnings
from nestmap.pipeline.cli.options.view import (
    ExplainOptions,
    PlotOptions,
    QueryOptions,
    ReportOptions,
    SchemaOptions,
    ServeOptions,
    ShowOptions,
)
from nestmap.pipeline.cli.parameters import command


@command(
    ShowOptions,
    """\
  nestmap show light:resnet50
  nestmap show light:inception_v2 --graph inception.svg
  nestmap show net.onnx --dim batch=1 --dim seq=384 --all --json net.json
  nestmap show --accelerator tpu_like""",
)
def show(options: ShowOptions) -> None:
    """Show the layers of a network, or the memories of an accelerator.

    For a network, prints a row for each distinct layer: dimensions, multiply-accumulates, weights
    and activations, multiply-accumulates per byte, and how many layers are identical to it; then
    the vector operators, operators that only move data, and unrecognized operators. For an
    accelerator, prints a row for each memory: size, width, access energy, area and leakage, as
    given or computed; of several cores, first a row for each kind of core and each channel.
    """
    from nestmap.pipeline.cli.show import run_show  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_show(options)


@command(
    SchemaOptions,
    """\
  nestmap schema accelerator --output accelerator.schema.json
  nestmap schema mapping""",
)
def schema(options: SchemaOptions) -> None:
    """Print the JSON Schema of a YAML format, with which editors complete and check files.

    It has the fields with their meanings, types and sets of values. A file names its schema in a
    comment, for editors with the YAML language server:
    # yaml-language-server: $schema=accelerator.schema.json
    """
    from nestmap.pipeline.cli.schema import run_schema  # noqa: PLC0415 (help is fast)

    run_schema(options)


@command(
    QueryOptions,
    """\
  nestmap query --list
  nestmap query pareto --run last
  nestmap query top --run last --layer conv1 --top 5
  nestmap query compare --run last --against 5f3a91 --output changes.csv
  nestmap query best --run 5f3a91
  nestmap query "SELECT layer, energy, latency FROM best WHERE run = last_run() ORDER BY latency"
  nestmap query 'SELECT layer, energy FROM best WHERE run = $run' --run 5f3a91
  nestmap query "SELECT * FROM totals" --store results.duckdb --output totals.parquet""",
)
def query(options: QueryOptions) -> None:
    """Query past explorations, by the name of a query or in SQL.

    The store is opened read-only. The main views are totals (a row for each run), best (a row for
    each layer of each run) and evaluations (a row for each mapping that was tried); by their names
    they show the rows of one run, the last one unless --run names another. In SQL, last_run() is
    the last run, and $run the one that --run names. Energies are in pJ, latencies in cycles.
    """
    from nestmap.pipeline.cli.query import run_query  # noqa: PLC0415 (help is fast)

    run_query(options)


@command(
    ExplainOptions,
    """\
  nestmap explain n0
  nestmap explain 5f3a91 conv1 --store results.duckdb --json conv1.json""",
)
def explain(options: ExplainOptions) -> None:
    """Explain the mapping that a run found for a layer.

    Prints the mapping as a loop nest with the tiles in each memory; where cycles and energy go;
    which port stalls the array; and what ports twice as wide and memories twice as large would
    gain, each evaluated.
    """
    from nestmap.pipeline.cli.explain import run_explain  # noqa: PLC0415 (help is fast)

    run_explain(options)


@command(
    PlotOptions,
    """\
  nestmap plot last
  nestmap plot last --what energy -o energy.pdf
  nestmap plot last --what mappings --layer conv1 -o conv1.svg
  nestmap plot last --what schedule -o schedule.svg
  nestmap plot last --against 5f3a91 -o comparison""",
)
def plot(options: PlotOptions) -> None:
    """Draw figures of a run: energy and cycles, mappings, accelerator, roofline, schedule.

    Needs vl-convert: pip install 'nestmap[plot]'.
    """
    from nestmap.pipeline.cli.plot import run_plot  # noqa: PLC0415 (help is fast)

    run_plot(options)


@command(
    ReportOptions,
    """\
  nestmap report last
  nestmap report last 5f3a91 --store results.duckdb -o comparison.html""",
)
def report(options: ReportOptions) -> None:
    """Write an HTML report of runs: one file with charts, which works offline.

    For each run, it contains a summary, all layers with their mappings explained, the accelerator,
    and the command to repeat the run; for several runs also a comparison. Needs more packages: pip
    install 'nestmap[report]'.
    """
    from nestmap.pipeline.cli.report import run_report  # noqa: PLC0415 (help is fast)

    run_report(options)


@command(
    ServeOptions,
    """\
  nestmap serve
  nestmap serve --store results.duckdb --open
  nestmap serve --port 8400""",
)
def serve(options: ServeOptions) -> None:
    """Explore a store in the browser: runs, layers, comparisons, SQL.

    The pages show running explorations live. They are read-only, and served to this computer only
    (127.0.0.1). Stop the server with Ctrl-C. Needs more packages: pip install 'nestmap[web]'.
    """
    from nestmap.pipeline.cli.serve import run_serve  # noqa: PLC0415 (help is fast)

    run_serve(options)
