"""ONNX files that crash, hang or flood the onnx library end in an error, and nestmap goes on."""

import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from threading import Thread, Timer
from time import monotonic, sleep
from typing import cast

import onnx
import psutil
import pytest
from onnx import TensorProto, helper

import nestmap
from nestmap.model import InputError, InputWarning, Workload
from nestmap.pipeline.frontend.bundled import light_names, resolve_workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED
from nestmap.pipeline.frontend.onnx_process import client, server
from nestmap.pipeline.frontend.onnx_process.child_process import Frame
from nestmap.pipeline.frontend.onnx_process.client import (
    IN_PROCESS,
    OnnxProcess,
    close_shared,
    read_onnx,
)
from nestmap.pipeline.frontend.onnx_process.messages import OnnxAnswer, OnnxLimits, OnnxRequest
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.stages.io.parse import ONNXModelParserStage, Sources
from tests.faults.forks import Forks
from tests.faults.interrupts import ONNX_CRASH, ONNX_CTRL_C
from tests.faults.test_bad_onnx import FILES, MODELS
from tests.pipeline.cli.inputs import program
from tests.pipeline.frontend.onnx.build import integers, model, node, weights
from tests.sweeps import every

if sys.platform == "win32":
    pytest.skip("signals of POSIX", allow_module_level=True)


def padded_to_less_than_nothing() -> onnx.ModelProto:
    stored = [integers("p", 0, 0, -9, 0, 0, -9), *(integers(name, 0) for name in "se")]
    nodes = [node("Pad", "x p", "t"), node("Slice", "t s e a", "y")]
    source = model(nodes, {"x": (2, 3, 8)}, [*stored, integers("a", 2)])
    source.opset_import[0].version = 18
    return source


def split_beside_a_function() -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 17)]
    relu = helper.make_function("acme", "F", ["a"], ["b"], [node("Relu", "a", "b")], opsets)
    nodes = [node("Split", "x", "a b c", {"num_outputs": 1}), node("F", "x", "z", domain="acme")]
    source = model(nodes, {"x": (4, 3)}, functions=[relu])
    source.opset_import[0].version = 18
    return source


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.onnx"
    path.write_bytes(_good().SerializeToString())
    return path


def _good(name: str = "w") -> onnx.ModelProto:
    return model([node("MatMul", f"x {name}", "y")], {"x": ("N", 8)}, [weights(name, 8, 4)])


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is known from an earlier time."""

    def none(path: str) -> None:
        """There is no such file."""

    monkeypatch.setattr(client, "known_file", none)


@pytest.fixture
def reader() -> Generator[OnnxProcess]:
    process = OnnxProcess()
    yield process
    process.close()


DIMS = {"N": 2}


def macs(reader: OnnxProcess, path: Path) -> int:
    return reader.read(path, DIMS).macs


def refusal(read: Callable[[], object]) -> InputError:
    with pytest.raises(InputError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return caught.value


def has_ended(number: int) -> bool:
    """Whether a process has ended, also if nobody has waited for it."""
    try:
        return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def await_end(number: int) -> None:
    end = monotonic() + 60
    while not has_ended(number):
        assert monotonic() < end
        sleep(0.01)


def started(reader: OnnxProcess, path: Path) -> int:
    """The process of a reader after it has read a file."""
    assert macs(reader, path) == 2 * 8 * 4
    assert reader.process_id is not None
    return reader.process_id


@pytest.mark.parametrize("make", [padded_to_less_than_nothing, split_beside_a_function])
def test_models_on_which_the_library_crashes(
    make: Callable[[], onnx.ModelProto], tmp_path: Path, good: Path, reader: OnnxProcess
) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(make().SerializeToString())
    found = outcome(lambda: reader.read(bad, {}))
    if isinstance(found, Workload):  # by a build of onnx without assertions
        assert len(found.nodes) == 2
    elif found[0] == str(bad):
        assert "crashes (signal SIG" in found[1]
        assert "check_model" in found[2]
    else:  # refused before it comes to a crash
        assert found[0].startswith(f"{bad}: node 'Pad_0' (Pad)")
    assert macs(reader, good) == 2 * 8 * 4


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (signal.SIGSEGV, "a model on which the onnx library crashes (signal SIGSEGV)"),
        (signal.SIGABRT, "a model on which the onnx library crashes (signal SIGABRT)"),
        (signal.SIGKILL, "a model during which the onnx library was killed (SIGKILL)"),
    ],
)
def test_a_process_that_a_signal_ends(
    number: signal.Signals, found: str, good: Path, reader: OnnxProcess
) -> None:
    first = started(reader, good)
    os.kill(first, signal.SIGSTOP)
    errors: list[InputError] = []
    asking = Thread(target=lambda: errors.append(refusal(lambda: reader.read(good, DIMS))))
    asking.start()
    sleep(0.2)
    assert not errors
    os.kill(first, number)
    os.kill(first, signal.SIGCONT)
    asking.join()
    assert str(errors[0]).startswith(f"{good}: found {found}; expected ")
    assert started(reader, good) != first
    assert has_ended(first)


def test_a_process_that_ended_between_two_files(good: Path, reader: OnnxProcess) -> None:
    first = started(reader, good)
    os.kill(first, signal.SIGKILL)
    await_end(first)
    assert started(reader, good) != first


def test_a_process_that_hangs(good: Path) -> None:
    reader = OnnxProcess(OnnxLimits(seconds=1.0))
    first = started(reader, good)
    os.kill(first, signal.SIGSTOP)
    error = refusal(lambda: reader.read(good, DIMS))
    assert error.found == "a model that the onnx library does not finish within 1 s"
    assert IN_PROCESS in error.expected
    assert has_ended(first)
    assert macs(reader, good) == 2 * 8 * 4
    reader.close()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_process_without_memory(tmp_path: Path, good: Path) -> None:
    reader = OnnxProcess(OnnxLimits(memory=2**26))
    first = started(reader, good)
    large = tmp_path / "large.onnx"
    with large.open("wb") as file:
        file.truncate(2**28)
    error = refusal(lambda: reader.read(large, {}))
    assert error.where == str(large)
    assert error.found == "a model for which the onnx library needs more than 0.0625 GiB of memory"
    assert macs(reader, good) == 2 * 8 * 4
    assert has_ended(first)
    reader.close()


@pytest.mark.parametrize("python", ["/bin/false", "/bin/none", ""])
def test_a_process_that_does_not_start(
    python: str, good: Path, reader: OnnxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    error = refusal(lambda: reader.read(good, DIMS))
    assert error.found == "an ONNX file, and a process for the onnx library that does not start"
    assert IN_PROCESS in error.expected


def outcome(read: Callable[[], Workload]) -> Workload | tuple[str, str, str, str]:
    try:
        return read()
    except InputError as error:
        return error.where, error.found, error.expected, str(error)


def agrees(
    path: Path, dims: Mapping[str, int] | None = None, float_bits: int | None = None
) -> None:
    """The process reads the same, or refuses it with the same words."""
    bits = UNSTATED if float_bits is None else float_bits
    here = outcome(lambda: parse_onnx(path, dims=dims, float_bits=bits))
    there = outcome(lambda: read_onnx(path, dims, float_bits))
    assert there == here
    if isinstance(here, Workload) and isinstance(there, Workload):
        assert there.content_hash == here.content_hash
        assert there.model_dump_json() == here.model_dump_json()


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    FILES[name][0](path)
    agrees(path)


@pytest.mark.parametrize("name", MODELS)
def test_errors_in_models_are_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(MODELS[name][0].SerializeToString())
    agrees(path)


@pytest.mark.parametrize("name", every(3, light_names()))
def test_networks_are_the_same(name: str) -> None:
    agrees(resolve_workload(name))


@pytest.mark.parametrize(
    "dims",
    [{"N": 3}, {"N": 10**4000}, {"N": -1}, {"N": 0}, {"M": 1}, {"N": 2, "\udcff": 1}, {"é\n": 1}],
    ids=["valid", "of 4,001 digits", "negative", "zero", "unknown", "not UTF-8", "odd"],
)
def test_dimensions_are_the_same(dims: dict[str, int], good: Path) -> None:
    agrees(good, dims)


@pytest.mark.parametrize("bits", [0, -1, 1, 32, 10**30])
def test_bits_of_floats_are_the_same(bits: int, good: Path) -> None:
    agrees(good, DIMS, bits)


def test_bits_of_floats_are_a_whole_number(good: Path) -> None:
    for bits in ("8", 8.0):
        error = refusal(lambda: read_workload(good, DIMS, cast("int", bits)))  # noqa: B023
        assert (error.where, error.expected) == ("float_bits", "a whole number")


@pytest.mark.parametrize("name", ["ü net.onnx", os.fsdecode(b"\xff.onnx"), ".onnx", "x" * 300])
def test_names_of_files_are_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if len(name) < 256:
        path.write_bytes(_good().SerializeToString())
    agrees(path, DIMS)
    agrees(path, {"M": 1})
    agrees(Path(f"{path}\0"))


def test_relative_paths_are_those_of_this_process(
    tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_onnx(good, DIMS)
    monkeypatch.chdir(tmp_path)
    agrees(Path("good.onnx"), DIMS)
    Path("link.onnx").symlink_to("good.onnx")
    agrees(Path("link.onnx"), DIMS)
    assert read_onnx(Path("link.onnx"), DIMS).name == "link"
    assert refusal(lambda: read_onnx(Path("good.onnx"), {"M": 1})).where == "good.onnx"


def test_pipes_and_devices(tmp_path: Path, good: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    content = good.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nestmap.pipeline.frontend.bounded_files.PIPE_SECONDS", 0.3)
        assert "a pipe that was not written" in refusal(lambda: read_onnx(pipe)).found
        assert refusal(lambda: read_onnx(Path("/dev/zero"))).found == "more than 268,435,456 bytes"
    writing = Thread(target=pipe.write_bytes, args=(content,))
    keep = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    writing.start()
    writing.join()
    Timer(0.3, os.close, (keep,)).start()
    assert read_onnx(pipe, DIMS).macs == 2 * 8 * 4
    for command in ("nestmap show /dev/stdin < good.onnx", "cat good.onnx | nestmap show <(cat)"):
        line = command.replace("nestmap", '"$0" -c "$1"') + " --dim N=2"
        words = ["bash", "-c", line, *(program()[0], program()[2])]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "64" in done.stdout, done.stderr


def test_files_that_are_too_large(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    with path.open("wb") as file:
        file.truncate(2**31)
    error = refusal(lambda: read_onnx(path))
    assert str(error).startswith(f"{path}: found more than 2,147,483,647 bytes; expected an ONNX")


def test_the_variable_keeps_reading_in_this_process(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_shared()
    monkeypatch.setattr("nestmap.pipeline.frontend.onnx_process.client.start_child", None)
    monkeypatch.setenv(IN_PROCESS, "1")
    assert read_workload(good, DIMS, 4).layers[0].macs == 2 * 8 * 4
    monkeypatch.delenv(IN_PROCESS)
    assert read_workload("light:squeezenet").macs
    with pytest.raises(TypeError):
        read_workload(good, DIMS)


@pytest.mark.parametrize("command", ["explore", "show", "stream"])
def test_commands_say_that_the_library_crashes(
    forks: Forks, command: str, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(good.parent)
    machines = {"explore": ["-a", "tpu_like"], "stream": ["-c", "quad_tpu"], "show": []}
    ended = forks.run(command, good.name, *machines[command], setup=ONNX_CRASH)
    found = "found a model on which the onnx library crashes (signal SIGSEGV)"
    assert ended.err.startswith(f"error: good.onnx: {found}; expected a valid ONNX model")
    assert (ended.code, ended.out) == (2, "")
    assert list(good.parent.iterdir()) == [good]


def test_ctrl_c_while_a_file_is_read(forks: Forks, good: Path) -> None:
    ended = forks.run("show", str(good), setup=ONNX_CTRL_C)
    assert ended.code == 130, ended.err
    assert "Traceback" not in ended.err
    assert has_ended(int(ended.out))


def test_python_programs_read_in_the_process(good: Path, tmp_path: Path) -> None:
    close_shared()
    assert nestmap.explore(good, "tpu_like", dims=DIMS, search="loma", lpf_limit=3).layers
    stages = (ONNXModelParserStage(), Sources(workload=good, accelerator=tmp_path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nestmap.pipeline.frontend.onnx_process.client.start_child", None)
        assert "symbolic dimension" in refusal(lambda: stages[0](stages[1])).expected
    close_shared()


READS = """
import os, signal, sys
from pathlib import Path
from nestmap.pipeline.frontend.onnx_process import client
from nestmap.pipeline.frontend.onnx_process.client import _shared, read_onnx
client.known_file = lambda path: None
print(read_onnx(Path(sys.argv[1]), {"N": 2}).macs, _shared.process_id, flush=True)
"""


def script(code: str, good: Path) -> tuple[int, list[int]]:
    """How a program ended, and the numbers that it printed."""
    command = [sys.executable, "-c", f"{READS}\n{code}", str(good)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize(
    ("code", "status"), [("", 0), ("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -9)]
)
def test_the_process_ends_with_its_parent(code: str, status: int, good: Path) -> None:
    ended, (read, process) = script(code, good)
    assert (ended, read) == (status, 2 * 8 * 4)
    await_end(process)


def test_a_forked_process_has_a_process_of_its_own(good: Path) -> None:
    code = """
if not os.fork():
    print(read_onnx(Path(sys.argv[1]), {"N": 2}).macs, _shared.process_id, flush=True)
    os._exit(0)
os.wait()
print(read_onnx(Path(sys.argv[1]), {"N": 2}).macs, _shared.process_id, flush=True)
"""
    ended, (_, first, read, other, again, same) = script(code, good)
    assert (ended, read, again) == (0, 2 * 8 * 4, 2 * 8 * 4)
    assert same == first != other
    await_end(first)
    await_end(other)


def test_threads_read_one_after_the_other(tmp_path: Path, reader: OnnxProcess) -> None:
    found: dict[str, str] = {}

    def read(name: str) -> None:
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(_good(name).SerializeToString())
        found[name] = reader.read(path, DIMS).name

    threads = [Thread(target=read, args=(name,)) for name in "abcdefgh"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {name: name for name in "abcdefgh"}


def here(path: Path, before: int = 2**62) -> Frame:
    """What the process would answer, computed in this one."""
    request = OnnxRequest(str(path), "net", str(path), {"N": 2}, None)
    return server.answer_of(Frame(request.to_json()), before)


def always(frame: Frame) -> Callable[[Frame, str], Frame]:
    def answer(_: Frame, __: str) -> Frame:
        return frame

    return answer


def test_warnings_are_given_again(
    good: Path, reader: OnnxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object, **__: object) -> Workload:
        warnings.warn(InputWarning("odd"), stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        warnings.warn(FarWarning("far"), stacklevel=2)
        raise InputError.conflict("--dim N", "net", "all its sizes are fixed")

    class FarWarning(Warning):
        """A class that this process may not know."""

    monkeypatch.setattr(server, "parse_onnx", parse)
    frame = here(good)
    monkeypatch.setattr(reader, "_exchange", always(frame))
    with pytest.warns() as caught, pytest.raises(InputError) as error:
        reader.read(good, DIMS)
    assert [(each.category, str(each.message)) for each in caught] == [
        (InputWarning, "odd"),
        (DeprecationWarning, "old"),
        (UserWarning, "far"),
    ]
    assert str(error.value) == "--dim N cannot be combined with net; all its sizes are fixed"
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        with pytest.raises(InputWarning, match="odd"):
            reader.read(good, DIMS)


def test_a_bug_is_a_bug(good: Path, reader: OnnxProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> Workload:
        raise ZeroDivisionError

    monkeypatch.setattr(server, "parse_onnx", parse)
    frame = here(good)
    assert not OnnxAnswer.from_json(frame.head).is_worn
    monkeypatch.setattr(reader, "_exchange", always(frame))
    with pytest.raises(RuntimeError, match=r"(?s)good.onnx:\nTraceback .*ZeroDivisionError"):
        reader.read(good, DIMS)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_process_that_has_grown_is_replaced(
    good: Path, reader: OnnxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started(reader, good)
    monkeypatch.setattr(reader, "_exchange", always(here(good, before=-(2**30))))
    assert macs(reader, good) == 2 * 8 * 4
    assert has_ended(first)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_external_weights_are_not_opened_and_nothing_is_written(
    tmp_path: Path, reader: OnnxProcess
) -> None:
    source = _good()
    tensor = source.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="none.bin")
    path = tmp_path / "net.onnx"
    path.write_bytes(source.SerializeToString())
    assert macs(reader, path) == 2 * 8 * 4
    assert reader.process_id is not None
    assert resource.prlimit(reader.process_id, resource.RLIMIT_FSIZE) == (0, 0)
    soft, hard = resource.prlimit(reader.process_id, resource.RLIMIT_AS)
    assert soft == hard
    assert 2**33 <= soft < 2**34
    assert list(tmp_path.iterdir()) == [path]
