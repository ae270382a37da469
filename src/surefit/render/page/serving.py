"""A page at an address of this machine alone, made again whenever its runs have written more."""

import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from surefit.doctor.findings import COMMAND_LINE, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render.console import say

from .comparison import page_of_runs
from .html import as_html
from .left_behind import LeftBehind
from .of_run import page_of_run

PORT_TAKEN = refusal("SF099", "port-taken", "The port for serving the page is not free.")

LOOPBACK = "127.0.0.1"
OWN_NAMES = frozenset((LOOPBACK, "localhost"))
"""Under which a browser may ask: a site of the web that leads its own name here is refused."""
REST = 10.0
"""A page that takes so long to make is made again only after this many times as long."""
WATCHED = ("*.json", "*.jsonl", "predictions/*.jsonl")


@dataclass(slots=True)
class LivePage:
    """The page of these runs as it is now, and its stamp."""

    runs: Sequence[Path]
    stamp: str = ""
    body: bytes = b""
    took: float = 0.0
    made_at: float = -1e9
    lock: Lock = field(default_factory=Lock)

    def now(self) -> tuple[str, bytes]:
        """Made again if a file of a run is new, and not too often."""
        with self.lock:
            stamp = stamp_of(self.runs)
            began = time.monotonic()
            if stamp != self.stamp and began - self.made_at >= REST * self.took:
                self.body = self.made()
                self.stamp, self.made_at = stamp, began
                self.took = time.monotonic() - began
            return self.stamp, self.body

    def made(self) -> bytes:
        runs = [LeftBehind(path) for path in self.runs]
        page = page_of_run(runs[0]) if len(runs) == 1 else page_of_runs(runs)
        return as_html(page, live=True).encode("utf-8")


def stamp_of(runs: Sequence[Path]) -> str:
    """Changes when a run writes, and when its process is gone."""
    files = []
    for file in files_of(runs):
        with suppress(FileNotFoundError):  # it was being replaced
            state = file.stat()
            files.append((state.st_mtime_ns, state.st_size))
    running = [LeftBehind(run).is_running for run in runs]
    return f'"{hash((*files, *running)):x}"'


def files_of(runs: Sequence[Path]) -> Iterator[Path]:
    for run in runs:
        for pattern in WATCHED:
            yield from sorted(file for file in run.glob(pattern) if file.is_file())


def handler_for(page: LivePage) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        """Gives the page and nothing else."""

        def do_GET(self) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
            if host not in OWN_NAMES:
                self.send_error(403, "asked for under another name than this machine's own")
                return
            if self.path != "/":
                self.send_error(404)
                return
            stamp, body = page.now()
            if self.headers.get("If-None-Match") == stamp:
                self.send_response(304)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("ETag", stamp)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A line for each question of the page would say nothing."""

    return Answering


def server_for(runs: Sequence[Path], port: int) -> ThreadingHTTPServer:
    """Listens already; `serve_forever` answers."""
    try:
        return ThreadingHTTPServer((LOOPBACK, port), handler_for(LivePage(runs)))
    except (OSError, OverflowError) as error:
        raise WrongCall(
            PORT_TAKEN.finding(
                COMMAND_LINE,
                f"Port {port} of this machine cannot be used.",
                fixes=(Fix("Leave `--port` out: a free one is taken."),),
                python_said=f"{type(error).__name__}: {error}",
            )
        ) from error


def serve(runs: Sequence[Path], port: int, opens: bool) -> None:
    """Until Ctrl-C."""
    with server_for(runs, port) as server:
        address = f"http://{LOOPBACK}:{server.server_address[1]}/"
        say(f"{address}  (press Ctrl-C to stop)")
        if opens:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say()
