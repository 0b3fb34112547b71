"""What the explorer answers to 200 clients at once, one of which is hungry, and its memory after.

Run ``python -m benchmarks.explorer [SECONDS]``; without: 20. The explorer is a process of its own;
the clients are threads of this one, each with a connection per request. Nothing but 200 and an
honest 503 (with Retry-After) may come back. Memory is that of the explorer and its children, on
Linux.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from time import monotonic, sleep
from typing import Final, final
from urllib.parse import urlencode, urlsplit

import numpy as np

from nestmap import explore

CLIENTS: Final = 200
ENDLESS: Final = "SELECT count(*) FROM range(1000000000000)"
SIMPLE: Final = "SELECT count(*) AS runs FROM runs"
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
MAIN: Final = "from nestmap.pipeline.cli import main; main()"
TOKEN: Final = "benchmark"
BUSY: Final = 503
OK: Final = 200


@final
@dataclass(frozen=True)
class Reply:
    """The status of a response, after so many seconds; ``again``: whether it says when to retry."""

    status: int
    seconds: float
    again: bool


@final
@dataclass(frozen=True)
class Client:
    """Somebody with a browser that has been admitted."""

    host: str
    port: int
    cookie: str

    @classmethod
    def admitted(cls, address: str) -> Client:
        """The client that opens the printed address."""
        place = urlsplit(address)
        host, port = str(place.hostname), int(place.port or 0)
        with closing(HTTPConnection(host, port, timeout=60)) as connection:
            connection.request("GET", f"/?{place.query}")
            return cls(host, port, str(connection.getresponse().getheader("set-cookie")))

    def get(self, at: str) -> Reply:
        """A page."""
        return self._request("GET", at, None)

    def ask(self, sql: str) -> Reply:
        """The answer to a question in SQL."""
        return self._request("POST", "/sql", urlencode({"sql": sql}))

    def _request(self, method: str, at: str, body: str | None) -> Reply:
        start = monotonic()
        with closing(HTTPConnection(self.host, self.port, timeout=60)) as connection:
            connection.request(method, at, body, {"Cookie": self.cookie.split(";")[0], **FORM})
            response: HTTPResponse = connection.getresponse()
            response.read()
        return Reply(
            response.status, monotonic() - start, response.getheader("retry-after") is not None
        )


@contextmanager
def serving(store: Path) -> Generator[tuple[str, int]]:
    """The address of an explorer, and the number of its process."""
    command = [sys.executable, "-c", MAIN, "serve", "--store", str(store)]
    with subprocess.Popen(
        [*command, "--token", TOKEN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def visit(address: str, until: float, seed: int) -> list[Reply]:
    """What one client gets, who looks at pages and asks simple questions until a time."""
    draw, client = random.Random(seed), Client.admitted(address)
    replies: list[Reply] = []
    while monotonic() < until:
        asks = draw.random() < 0.2
        replies.append(client.ask(SIMPLE) if asks else client.get("/"))
        sleep(draw.uniform(0.05, 0.3))
    return replies


def eat(address: str, until: float) -> list[Reply]:
    """What a client gets who asks one endless question after the other."""
    client, replies = Client.admitted(address), list[Reply]()
    while monotonic() < until:
        replies.append(client.ask(ENDLESS))
    return replies


def memory(process: int) -> float:
    """The resident memory of a process and its children (MiB); 0 where there is no /proc."""
    total, found = 0.0, [process]
    while found:
        number = found.pop()
        status = Path(f"/proc/{number}/status")
        if not status.exists():
            continue
        lines = dict(x.split(":", 1) for x in status.read_text().splitlines())
        total += int(lines["VmRSS"].split()[0]) / 1024
        children = Path(f"/proc/{number}/task/{number}/children")
        found += map(int, children.read_text().split())
    return total


def told(name: str, replies: list[Reply]) -> str:
    """The line of some clients."""
    statuses = ", ".join(
        f"{n} x {x}" for x, n in sorted(Counter(x.status for x in replies).items())
    )
    times = [x.seconds for x in replies if x.status == OK]
    if not times:
        return f"{name}: {statuses}"
    half, most = np.percentile(times, [50, 99])
    return f"{name}: {statuses}; answered in {half:.2f} s (median), {most:.2f} s (p99)"


def main() -> None:
    """Prints what the clients got, and the explorer's memory before and after."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.duckdb"
        explore("light:squeezenet", "tpu_like", store=store)
        with serving(store) as (address, process):
            assert Client.admitted(address).ask(SIMPLE).status == OK
            before, until = memory(process), monotonic() + seconds
            with ThreadPoolExecutor(CLIENTS + 1) as pool:
                eating = pool.submit(eat, address, until)
                visits = [pool.submit(visit, address, until, x) for x in range(CLIENTS)]
                replies = [reply for x in visits for reply in x.result()]
                eaten = eating.result()
            after = memory(process)
            single = Client.admitted(address).get("/")
    print(told(f"{CLIENTS} clients, {seconds:g} s", replies))
    print(told("a hungry client beside them", eaten))
    print(f"memory: {before:.0f} MiB before, {after:.0f} MiB after")
    print(f"a page then: {single.seconds:.3f} s")
    wrong = [x for x in replies if x.status != OK and not (x.status == BUSY and x.again)]
    assert not wrong, Counter(x.status for x in wrong)
    assert single.status == OK


if __name__ == "__main__":
    main()
