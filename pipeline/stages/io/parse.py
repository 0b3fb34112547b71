"""The parser stages: from files to a network problem."""

from pathlib import Path

from nestmap.model import Frozen, MappingConstraints, NetworkProblem, Workload, narrow_sums
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.layers import check_constraints


class Sources(Frozen, frozen=True):
    """The files that describe an exploration."""

    workload: Path
    accelerator: Path
    mapping: Path | None = None


class ParsedWorkload(Frozen, frozen=True):
    """A workload, with the files from which the rest of the problem is read."""

    workload: Workload
    sources: Sources


class ONNXModelParserStage(Frozen, Stage[Sources, ParsedWorkload], frozen=True):
    """Reads the workload from an ONNX file.

    Raises:
        InputError: where the file or a node is invalid.
    """

    def __call__(self, sources: Sources, /) -> ParsedWorkload:
        # imported only when an ONNX file is read
        from nestmap.pipeline.frontend.onnx_process.client import read_onnx  # noqa: PLC0415

        return ParsedWorkload(workload=read_onnx(sources.workload), sources=sources)


class WorkloadParserStage(Frozen, Stage[Sources, ParsedWorkload], frozen=True):
    """Reads the workload from a YAML list of layers.

    Raises:
        InputError: where the file is invalid; it names line, field, found and expected value.
    """

    def __call__(self, sources: Sources, /) -> ParsedWorkload:
        return ParsedWorkload(workload=parse_workload_yaml(sources.workload), sources=sources)


class AcceleratorParserStage(Frozen, Stage[ParsedWorkload, NetworkProblem], frozen=True):
    """Reads the accelerator and the mapping file, and adds them to the workload.

    Raises:
        InputError: where a file is invalid, or the mapping does not suit the other two.
    """

    def __call__(self, parsed: ParsedWorkload, /) -> NetworkProblem:
        mapping = parsed.sources.mapping
        accelerator = parse_accelerator(parsed.sources.accelerator)
        network = NetworkProblem(
            workload=narrow_sums(parsed.workload, accelerator.room_for_sums),
            accelerator=accelerator,
            constraints=MappingConstraints() if mapping is None else parse_mapping(mapping),
        )
        check_constraints(network, str(mapping))
        return network


def workload_parser(path: Path) -> Stage[Sources, ParsedWorkload]:
    """The parser stage for a workload file, chosen by its suffix: YAML, else ONNX."""
    yaml = path.suffix.lower() in (".yaml", ".yml")
    return WorkloadParserStage() if yaml else ONNXModelParserStage()
