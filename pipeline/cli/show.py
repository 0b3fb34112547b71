"""``nestmap show``: a workload, an accelerator or a sweep as tables and as a picture."""

from nestmap.model import InputError, Workload
from nestmap.pipeline.analysis.network.workload_summary import layer_groups, single_layers
from nestmap.pipeline.cli.options.common import WorkloadOptions
from nestmap.pipeline.cli.options.view import ShowOptions
from nestmap.pipeline.cli.printing import check_target, print_note, show, show_prose, show_table
from nestmap.pipeline.cli.workload_argument import read_given_workload
from nestmap.pipeline.render.json.workload import workload_json
from nestmap.pipeline.render.tables.workload import group_table, vector_table
from nestmap.pipeline.render.text.plain_table import Line, printable, table_lines
from nestmap.pipeline.render.text.workload import DEFINITIONS, operator_notes, workload_totals
from nestmap.pipeline.util.atomic_files import write_json, write_text


def run_show(options: ShowOptions) -> None:
    """Shows the sweep, the accelerator or the network.

    Raises:
        NestmapError: where an option is invalid.
    """
    if options.sweep is not None:
        _show_sweep(options, options.sweep)
        return
    if options.design is not None:
        raise InputError("--design", "no sweep", "--sweep SWEEP")
    if options.accelerator is None:
        _show_network(options)
        return
    if options != ShowOptions(accelerator=options.accelerator, strict=options.strict):
        other = "a network or an option for one"
        raise InputError.conflict("--accelerator", other, "use one of them")
    from nestmap.pipeline.cli.show_accelerator import show_accelerator  # noqa: PLC0415 (networks do not need it)

    show_accelerator(options.accelerator)


def _show_sweep(options: ShowOptions, name: str) -> None:
    """Prints the front of a recorded sweep, or the accelerator of one of its designs."""
    alone = ShowOptions(
        sweep=name, design=options.design, store=options.store, strict=options.strict
    )
    if options != alone:
        other = "a network, an accelerator or an option for one"
        raise InputError.conflict("--sweep", other, "use one of them")
    from nestmap.pipeline.cli.recorded_sweep import show_sweep  # noqa: PLC0415 (imports the store)

    show_sweep(name, options.design, options.store)


def _show_network(options: ShowOptions) -> None:
    """Reads the workload, writes the files, prints the report."""
    if options.workload is None:
        raise InputError("nestmap show", "nothing to show", "a network, or --accelerator")
    check_target("--json", options.json, (options.workload,))
    check_target("--graph", options.graph, (options.workload, options.json))
    given = WorkloadOptions(
        name=options.workload,
        dims=options.dims,
        values=options.values,
        trust_shapes=options.trust_shapes,
        float_bits=options.float_bits,
        sum_bits=options.sum_bits,
        density=options.density,
        measure_density=options.measure_density,
    )
    workload = read_given_workload(given)
    _write_files(options, workload)
    _print_report(options, workload)
    for target in (options.json, options.graph):
        if target is not None:
            print_note(f"Written to {target}.")


def _write_files(options: ShowOptions, workload: Workload) -> None:
    """Writes the files; call it before printing, because the output pipe may be closed."""
    if options.json is not None:
        rows = single_layers if options.all_layers else layer_groups
        write_json(options.json, workload_json(workload, rows(workload.layers)))
    if options.graph is not None:
        from nestmap.pipeline.render.svg.workload import graph_svg  # noqa: PLC0415 (imports networkx)

        write_text(options.graph, graph_svg(workload))


def _print_report(options: ShowOptions, workload: Workload) -> None:
    groups = layer_groups(workload.layers)
    rows = single_layers(workload.layers) if options.all_layers else groups
    nodes = len(workload.nodes)
    show_prose(f"{printable(workload.name)}: {nodes:,} operator{'' if nodes == 1 else 's'}")
    if groups:
        show_table(group_table(rows))
    else:
        show([Line(), Line("No layer that the array computes."), Line()])
    if workload.vector_nodes:
        show([*table_lines(vector_table(workload)), Line()])
    for text in (workload_totals(workload, groups), *operator_notes(workload)):
        show_prose(text)
    if groups:
        show_prose(DEFINITIONS)
