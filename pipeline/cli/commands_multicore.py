"""The commands for several cores."""

from nestmap.pipeline.cli.error_handling import report_warnings
from nestmap.pipeline.cli.options.multicore import SplitCommandOptions, StreamCommandOptions
from nestmap.pipeline.cli.parameters import command


@command(
    SplitCommandOptions,
    """\
  nestmap split light:squeezenet --cores quad_tpu --hint-loops OY=all
  nestmap split net.onnx -c machine.yaml --hint-loops OY=4 --hint-loops OX=2 --graph net.svg
  nestmap split net.onnx -c machine.yaml --mode 3 --hint-loops "OY=all / K=4" --layer-cutoffs 9
  nestmap split net.onnx -c machine.yaml --mode 4 --hint-loops OY=all --split-w-percentage 0.5""",
)
def split(options: SplitCommandOptions) -> None:
    """Split a network into computation nodes for several cores.

    Prints for each layer the number of nodes and groups, the size of the constants, inputs and
    output of a node, and its incoming edges; then the largest tensors, and the nodes that do not
    fit the outermost memories of the cores that may run them. Nothing is mapped or scheduled.
    """
    from nestmap.pipeline.cli.split import run_split  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_split(options)


@command(
    StreamCommandOptions,
    """\
  nestmap stream light:resnet50 --cores quad_hetero --hint-loops OY=all
  nestmap stream net.onnx -c machine.yaml -m cores.yaml --rule memory --objective edp
  nestmap stream net.onnx -c quad_tpu --engine both --generations 20 --compare-lbl
  nestmap stream light:squeezenet -c quad_tpu --hint-loops OY=4 --trace trace.json""",
)
def stream(options: StreamCommandOptions) -> None:
    """Schedule a network on several cores.

    Splits the network into computation nodes, finds the best mapping of each kind of node on each
    core, then allocates the nodes to cores and schedules them with all transfers between the cores.
    Prints the Pareto front of allocations, and for the best schedule the load of cores, links and
    memories and a breakdown of its energy. Costs of nodes and generations are recorded in a DuckDB
    file; those that it holds already are not searched again.
    """
    from nestmap.pipeline.cli.stream import run_stream  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_stream(options)
