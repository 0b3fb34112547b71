"""``nestmap explain``: explains the mapping of a layer in an earlier run."""

from collections.abc import Sequence

from nestmap.model import InputError, LayerResult, NetworkEvaluation, NetworkProblem
from nestmap.model.errors import suggestion
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.pipeline.cli.options.view import ExplainOptions
from nestmap.pipeline.cli.printing import check_target, output_width, print_note, show, show_prose
from nestmap.pipeline.explore.explanation import WIDTH, Explanation, explain
from nestmap.pipeline.explore.resume import searched_problem
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.pipeline.render.text.results import fused_sentences
from nestmap.pipeline.util.atomic_files import write_text
from nestmap.store import Store


def run_explain(options: ExplainOptions) -> None:
    """Explains the layer's mapping, writes the JSON file, prints the text.

    Raises:
        NestmapError: where an option is invalid.
    """
    if len(options.names) > 2:
        raise InputError("explain", f"{len(options.names)} names", "a layer, or a run and a layer")
    run_name, layer = (LAST_RUN, *options.names)[-2:]
    check_target("--json", options.json, (options.store,))
    with Store.open_read_only(options.store) as store:
        run = store.find_run(run_name)
        network = store.problem(run)
        best = store.best(run)
        result = _result(best, network, layer)
        explained = best.segment_of(result.cme.layer) or explain(
            searched_problem(store, run, network, result), result.cme, result.bound
        )
    if options.json is not None:  # before anything is printed: the output pipe may be closed
        write_text(options.json, explained.model_dump_json(indent=2) + "\n")
    if result.repeats is not None:
        show_prose(f"Identical to {printable(result.repeats)}, whose result is reused.")
    for sentence in fused_sentences(best, result.cme.layer):
        show_prose(sentence)
    if isinstance(explained, Explanation):
        show(explained.lines(min(WIDTH, output_width())))
    if options.json is not None:
        print_note(f"Written to {options.json}.")


def _result(evaluation: NetworkEvaluation, network: NetworkProblem, layer: str) -> LayerResult:
    """The result of a layer, by its name or its printed name."""
    names = [result.cme.layer for result in evaluation.layers]
    for result in evaluation.layers:
        if layer in (result.cme.layer, printable(result.cme.layer)):
            return result
    raise _unknown(layer, names, network)


def _unknown(layer: str, names: Sequence[str], network: NetworkProblem) -> InputError:
    others = [node.name for node in network.workload.nodes if node.name not in names]
    found = f"{layer!r}, which the array does not compute" if layer in others else repr(layer)
    shown = [printable(name) for name in names]
    return InputError("layer to explain", found, suggestion(layer, shown))
