"""The commands with their options and help texts; what they do is imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from nestmap.pipeline.cli import commands_db as database
from nestmap.pipeline.cli import commands_split as splitting
from nestmap.pipeline.cli import commands_stream as streaming
from nestmap.pipeline.cli import commands_view as seeing
from nestmap.pipeline.cli import options
from nestmap.pipeline.cli.error_handling import reported

app = typer.Typer(
    rich_markup_mode=None,  # plain help: formatting it with rich takes longer than all the rest
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Finds, for a neural network and an accelerator, how to run every layer, and says what "
    "that costs in energy and cycles, memory by memory.",
    epilog="""\b
Examples:
  nestmap examples
  nestmap show light:resnet50
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap query "SELECT layer, energy, latency FROM best ORDER BY latency DESC"
  nestmap explore --help""",
)


def show_version(wanted: bool) -> None:
    """Prints the version and leaves."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 (not needed by any other command)

        typer.echo(f"nestmap {version('nestmap')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The options that stand before a command."""


@app.command(
    epilog="""\b
Examples:
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap explore net.onnx -a machine.yaml -m mapping.yaml --objective energy
  nestmap explore layers.yaml -a tpu_like --lpf-limit 8 --no-store --json out.json
  nestmap explore light:resnet50 -a eyeriss_like -m free --spatial-mappings 20 --mixed --prune
  nestmap explore light:alexnet -a tpu_like --search salsa --keep-on-chip --seed 1
  nestmap explore light:alexnet -a tpu_like --pareto"""
)
def explore(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    dim: options.Dims = None,
    float_bits: options.FloatBits = None,
    accelerator: options.Accelerator,
    mapping: options.Mapping = None,
    objective: options.Objective = "latency",
    search: options.Search = "loma",
    lpf_limit: options.Limit = 6,
    mapping_type: options.MappingType = "uneven",
    spatial_mappings: options.SpatialMappings = 3,
    mixed: options.Mixed = False,
    rank: options.Rank = "utilization",
    keep_on_chip: options.KeepOnChip = False,
    prune: options.Prune = False,
    count_vector: options.CountVector = False,
    static_energy: options.StaticEnergy = False,
    pareto: options.Pareto = False,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    store: options.StoreFile = options.DEFAULT_STORE,
    no_store: options.NoStore = False,
    record: options.Record = "all",
    record_limit: options.RecordLimit = None,
    record_to: options.RecordTo = None,
    fresh: options.Fresh = False,
    json: options.JsonFile = None,
    save_mapping: options.SaveMapping = None,
) -> None:
    """Find the best mapping of every layer of a network.

    Tries the most promising spatial mappings of every layer, for each of them every order of the
    loops, with the best use of the memories for each order, and prints a table of the best ones.
    Every mapping that was tried is kept in a DuckDB file, and what is there is not tried again.
    """
    with reported():
        from nestmap.model import Recording, RecordMode  # noqa: PLC0415 (help is fast)
        from nestmap.pipeline.cli.explore import (  # noqa: PLC0415
            ExploreRequest,
            ResultFiles,
            run_explore,
        )
        from nestmap.pipeline.cli.store_target import keeping  # noqa: PLC0415
        from nestmap.pipeline.cli.workload_argument import GivenWorkload  # noqa: PLC0415
        from nestmap.pipeline.explore.options import SearchOptions  # noqa: PLC0415
        from nestmap.pipeline.explore.plan import SearchPlan  # noqa: PLC0415

        run_explore(
            ExploreRequest(
                workload=GivenWorkload(workload, tuple(dim or ()), float_bits),
                accelerator=accelerator,
                mapping=mapping,
                static_energy=static_energy,
                plan=SearchPlan.of(
                    SearchOptions(
                        objective=objective,
                        search=search,
                        lpf_limit=lpf_limit,
                        mapping_type=mapping_type,
                        spatial_mappings=spatial_mappings,
                        mixed=mixed,
                        rank=rank,
                        keep_on_chip=keep_on_chip,
                        prune=prune,
                        count_vector=count_vector,
                        seed=seed,
                        workers=workers,
                    )
                ),
                pareto=pareto,
                place=keeping(store, no_store, record_to),
                recording=Recording(record=RecordMode(record), limit=record_limit, fresh=fresh),
                files=ResultFiles(json, save_mapping),
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap resume last
  nestmap resume 5f3a91 --store results.duckdb"""
)
def resume(
    run: options.OneRun,
    workers: options.Workers = None,
    store: options.StoreFile = options.DEFAULT_STORE,
    json: options.JsonFile = None,
    save_mapping: options.SaveMapping = None,
) -> None:
    """Go on with an exploration that was interrupted or has failed.

    What it has searched to the end is not searched again. The result is that of a run which nothing
    has interrupted.
    """
    with reported():
        from nestmap.pipeline.cli.explore import ResultFiles, Resumption  # noqa: PLC0415
        from nestmap.pipeline.cli.resume import run_resume  # noqa: PLC0415

        run_resume(run, store, Resumption(workers, ResultFiles(json, save_mapping)))


@app.command(
    epilog="""\b
Examples:
  nestmap evaluate light:alexnet --layer n0 -a tpu_like --order "FX 11, FY 11, OX 54, OY 54, K 3"
  nestmap evaluate layers.yaml --layer fc -a tpu_like --order "C 2, K 4" \\
      --cut O=0,1,2 --cut W=1,2 --cut I=2,2
  nestmap evaluate light:resnet50 -a tpu_like --mapping-file found.yaml"""
)
def evaluate(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.Workload,
    dim: options.Dims = None,
    float_bits: options.FloatBits = None,
    accelerator: options.Accelerator,
    layer: options.Layer = None,
    order: options.Order = None,
    cut: options.Cuts = None,
    mapping: options.Mapping = None,
    mapping_file: options.MappingFile = None,
    static_energy: options.StaticEnergy = False,
    json: options.JsonFile = None,
) -> None:
    """Say what a given mapping costs, of one layer or of all layers of a network."""
    with reported():
        from nestmap.pipeline.cli.evaluate import EvaluateRequest, run_evaluate  # noqa: PLC0415
        from nestmap.pipeline.cli.workload_argument import GivenWorkload  # noqa: PLC0415

        run_evaluate(
            EvaluateRequest(
                workload=GivenWorkload(workload, tuple(dim or ()), float_bits),
                layer=layer,
                accelerator=accelerator,
                mapping=mapping,
                static_energy=static_energy,
                mapping_file=mapping_file,
                order=order,
                cuts=tuple(cut or ()),
                json=json,
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap show light:resnet50
  nestmap show light:inception_v2 --graph inception.svg
  nestmap show net.onnx --dim batch=1 --dim seq=384 --all --json net.json
  nestmap show --accelerator tpu_like"""
)
def show(  # noqa: PLR0913 (a parameter for each option)
    *,
    workload: options.ShownWorkload = None,
    accelerator: options.ShownAccelerator = None,
    dim: options.Dims = None,
    float_bits: options.FloatBits = None,
    graph: options.Graph = None,
    json: options.ReportFile = None,
    all_layers: options.AllLayers = False,
) -> None:
    """Show what a network or an accelerator consists of.

    Of a network, prints a row for each different layer: dimensions, multiply-accumulates, weights
    and activations, multiply-accumulates per byte, and how many layers are like it; then the vector
    operators, those that only move data, and those that are not known. Of an accelerator, a row for
    each memory: size, width, and energy of an access, area and leakage, as given or computed.
    """
    with reported():
        from nestmap.model import InputError  # noqa: PLC0415 (help is fast)
        from nestmap.pipeline.cli.show import (  # noqa: PLC0415
            ShowRequest,
            run_show,
            run_show_accelerator,
        )
        from nestmap.pipeline.cli.workload_argument import GivenWorkload  # noqa: PLC0415

        if accelerator is not None:
            if workload or dim or float_bits or graph or json or all_layers:
                found = "--accelerator beside a network or an option for one"
                raise InputError("nestmap show", found, "one of them")
            run_show_accelerator(accelerator)
            return
        if workload is None:
            raise InputError("nestmap show", "nothing to show", "a network, or --accelerator")
        run_show(
            ShowRequest(
                workload=GivenWorkload(workload, tuple(dim or ()), float_bits),
                graph=graph,
                json=json,
                every_layer=all_layers,
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap query --list
  nestmap query pareto --run last
  nestmap query top --run last --layer conv1 --top 5
  nestmap query compare --run last --against 5f3a91 --output changes.csv
  nestmap query "SELECT layer, energy, latency FROM best ORDER BY latency DESC LIMIT 5"
  nestmap query "SELECT layer, count(*), min(latency), max(latency) FROM evaluations GROUP BY layer"
  nestmap query "SELECT * FROM totals" --store results.duckdb --output totals.parquet"""
)
def query(  # noqa: PLR0913 (a parameter for each option)
    *,
    question: options.Question = None,
    run: options.QueriedRun = None,
    against: options.OtherRun = None,
    layer: options.QueriedLayer = None,
    top: options.Top = None,
    store: options.StoreFile = options.DEFAULT_STORE,
    format: options.Format = None,
    output: options.Output = None,
    listing: options.ListQueries = False,
) -> None:
    """Ask past explorations a question, by its name or in SQL.

    The store is opened for reading only. The views to begin with: totals (a row for each run), best
    (a row for each layer of each run), evaluations (a row for each mapping that was tried).
    Energies are in pJ, latencies in cycles.
    """
    with reported():
        from nestmap.pipeline.cli.query import QueryRequest, given, run_query  # noqa: PLC0415

        run_query(
            QueryRequest(
                question=question,
                listing=listing,
                given=given(run, against, layer, top),
                store=store,
                layout=format,
                output=output,
            )
        )


@app.command(
    epilog="""\b
Examples:
  nestmap reprice last --accelerator newer_sram.yaml
  nestmap reprice 5f3a91 -a newer_sram.yaml --store results.duckdb --json repriced.json"""
)
def reprice(
    run: options.OneRun,
    accelerator: options.Accelerator,
    static_energy: options.StaticEnergy = False,
    store: options.StoreFile = options.DEFAULT_STORE,
    json: options.JsonFile = None,
) -> None:
    """Say what the mappings of an earlier run cost with other energies.

    Energy is linear in the accesses that were counted, so nothing is searched. The accelerator must
    be that of the run but for energies, areas and names.
    """
    with reported():
        from nestmap.pipeline.cli.reprice import RepriceRequest, run_reprice  # noqa: PLC0415

        run_reprice(
            RepriceRequest(
                run=run,
                accelerator=accelerator,
                static_energy=static_energy,
                store=store,
                json=json,
            )
        )


@app.command()
def examples() -> None:
    """List the bundled accelerators, mappings and networks."""
    with reported():
        from nestmap.pipeline.cli.examples import run_examples  # noqa: PLC0415

        run_examples()


splitting.register(app)
streaming.register(app)
seeing.register(app)
database.register(app)


def main() -> None:
    """Runs the command line; the entry point of ``nestmap``."""
    app()
