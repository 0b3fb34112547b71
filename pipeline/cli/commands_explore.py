"""The commands that explore and evaluate mappings on one core."""

from nestmap.pipeline.cli.error_handling import report_warnings
from nestmap.pipeline.cli.options.explore import (
    EvaluateOptions,
    ExploreOptions,
    RepriceOptions,
    ResumeOptions,
)
from nestmap.pipeline.cli.parameters import command


@command(
    ExploreOptions,
    """\
  nestmap explore light:resnet50 --accelerator tpu_like
  nestmap explore net.onnx -a machine.yaml -m mapping.yaml --objective energy
  nestmap explore layers.yaml -a tpu_like --lpf-limit 8 --no-store --json out.json
  nestmap explore light:resnet50 -a eyeriss_like -m free --spatial-mappings 20 --mixed --prune
  nestmap explore light:alexnet -a tpu_like --search salsa --keep-on-chip --seed 1
  nestmap explore light:alexnet -a tpu_like --pareto""",
)
def explore(options: ExploreOptions) -> None:
    """Find the best mapping of every layer of a network.

    Finds the optimum over all spatial mappings, loop orders and memory allocations of every layer,
    or the best mapping within its limit of work with a lower bound (--search selects another
    search). Prints a table of the best mappings. All evaluations are recorded in a DuckDB file;
    searches that it holds already are not repeated.
    """
    from nestmap.pipeline.cli.explore import run_explore  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_explore(options)


@command(
    ResumeOptions,
    """\
  nestmap resume last
  nestmap resume 5f3a91 --store results.duckdb
  nestmap resume arrays --store sweeps.duckdb""",
)
def resume(options: ResumeOptions) -> None:
    """Resume an exploration or a sweep that was interrupted or has failed.

    Completed searches and designs are not repeated. The result is the same as that of an
    uninterrupted run.
    """
    from nestmap.pipeline.cli.resume import run_resume  # noqa: PLC0415 (help is fast)

    run_resume(options)


@command(
    EvaluateOptions,
    """\
  nestmap evaluate light:alexnet --layer n0 -a tpu_like --order "FX 11, FY 11, OX 54, OY 54, K 3"
  nestmap evaluate layers.yaml --layer fc -a tpu_like --order "C 2, K 4" \\
      --cut O=0,1,2 --cut W=1,2 --cut I=2,2
  nestmap evaluate light:resnet50 -a tpu_like --mapping-file found.yaml --store mine.duckdb""",
)
def evaluate(options: EvaluateOptions) -> None:
    """Evaluate the cost of a given mapping, of one layer or of all layers of a network.

    With --store it is recorded as a run, which other commands explain, plot and compare.
    """
    from nestmap.pipeline.cli.evaluate import run_evaluate  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_evaluate(options)


@command(
    RepriceOptions,
    """\
  nestmap reprice last --accelerator newer_sram.yaml
  nestmap reprice 5f3a91 -a newer_sram.yaml --store results.duckdb --json repriced.json""",
)
def reprice(options: RepriceOptions) -> None:
    """Recompute the costs of the mappings of an earlier run with other energies.

    Energy is linear in the counted accesses, so nothing is searched. The accelerator may differ
    from that of the run only in energies, areas and names.
    """
    from nestmap.pipeline.cli.reprice import run_reprice  # noqa: PLC0415 (help is fast)

    with report_warnings(strict=options.strict):
        run_reprice(options)
