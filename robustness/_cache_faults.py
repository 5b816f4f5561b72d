"""Faults of the data cache: a server that lies or dies, two fetchers, a kill in the middle."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robustness._fault_tools import run_child, small_disk, unwritable
from robustness._results import Plan, Result

_CONTENT = np.random.default_rng(0).bytes(200_000)
_SHA256 = hashlib.sha256(_CONTENT).hexdigest()


def disturb(plan: Plan, base: Path) -> Result:
    """Disturb downloads from an https server on this machine."""
    result = Result("faults: the data cache", plan.seed)
    if shutil.which("openssl") is None:
        result.facts["not run"] = "openssl is needed for the certificate of the test server"
        return result
    import pooch  # noqa: F401  a child that is nobody may not be able to import it
    import requests  # noqa: F401

    import unispectral.datasets._registry  # noqa: F401

    rng = np.random.default_rng([plan.seed, 7])
    with _server(base) as address:
        for _ in range(plan.pick(1, 8)):
            _killed(result, base, address, float(rng.uniform(0.0, 0.4)))
            _fetched_badly(result, base, address)
            _two_fetchers(result, base, address)
            _no_room(result, base, address, int(rng.integers(8, 190)))
    return result


def fetch(address: str, path: str, home: Path) -> int:
    """Fetch the file through the cache; an exit code and a sentence."""
    from unispectral.datasets._registry import File, locate

    try:
        locate(File("good.mat", _SHA256, f"{address}/{path}"), home, True)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


def _home(base: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=base))


def _whole_or_absent(home: Path) -> bool:
    file = home / "good.mat"
    return not file.exists() or file.read_bytes() == _CONTENT


def _settle(result: Result, address: str, home: Path, name: str, words: str = "") -> None:
    if not _whole_or_absent(home):
        result.add("failed", name, "half a file under its final name")
        return
    ended = run_child(lambda: fetch(address, "good.mat", home))
    good = ended.code == 0 and (home / "good.mat").read_bytes() == _CONTENT
    result.check(good, name, f"rerun: code {ended.code}: {ended.said[-300:]} {words}")


def _killed(result: Result, base: Path, address: str, after: float) -> None:
    home = _home(base)
    run_child(lambda: fetch(address, "slow.mat", home), kill_after=after)
    _settle(result, address, home, f"kill -9 after {after:.3f} s of a download")


def _fetched_badly(result: Result, base: Path, address: str) -> None:
    for path, what in {
        "bad.mat": "a file of other content",
        "short.mat": "a connection that breaks",
        "moved.mat": "a redirection away from https",
        "absent.mat": "no such file",
    }.items():
        home = _home(base)
        ended = run_child(lambda path=path, home=home: fetch(address, path, home))
        left = [p.name for p in home.iterdir()]
        if ended.code != 1 or left or "Traceback" in ended.said:
            result.add("failed", what, f"code {ended.code}, left {left}: {ended.said[-300:]}")
            continue
        _settle(result, address, home, what)


def _two_fetchers(result: Result, base: Path, address: str) -> None:
    home = _home(base)

    def both() -> int:
        other = os.fork()
        code = fetch(address, "slow.mat", home)
        if other == 0:
            os._exit(code)
        return code or os.waitstatus_to_exitcode(os.waitpid(other, 0)[1])

    ended = run_child(both)
    if ended.code != 0:
        result.add("failed", "two fetchers", f"code {ended.code}: {ended.said[-300:]}")
        return
    _settle(result, address, home, "two fetchers")


def _no_room(result: Result, base: Path, address: str, kilobytes: int) -> None:
    home = _home(base)
    with small_disk(home, kilobytes) as (place, prepare, how):
        ended = run_child(lambda: fetch(address, "good.mat", place), prepare=prepare)
        good = ended.code == 1 and _whole_or_absent(place) and "Traceback" not in ended.said
        name = f"disk of {kilobytes} kB ({how})"
        result.check(good, name, f"code {ended.code}: {ended.said[-300:]}")
    home = _home(base)
    with unwritable(home) as prepare:
        ended = run_child(lambda: fetch(address, "good.mat", home), prepare=prepare)
    good = ended.code == 1 and "Error: " in ended.said and "Traceback" not in ended.said
    result.check(good, "read-only folder", f"code {ended.code}: {ended.said[-300:]}")


@contextmanager
def _server(base: Path) -> Iterator[str]:
    """Serve over https with a certificate made for the occasion."""
    folder = Path(tempfile.mkdtemp(dir=base))
    folder.chmod(0o755)
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
    request += "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem"
    subprocess.run(["openssl", *request.split()], cwd=folder, capture_output=True, check=True)
    (folder / "cert.pem").chmod(0o644)
    httpd = http.server.ThreadingHTTPServer(("localhost", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    httpd.handle_error = lambda *args: None  # type: ignore[method-assign]
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    before = {name: os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "UNISPECTRAL_DATA")}
    os.environ["REQUESTS_CA_BUNDLE"] = str(folder / "cert.pem")
    os.environ.pop("UNISPECTRAL_DATA", None)
    try:
        yield f"https://localhost:{httpd.server_port}"
    finally:
        httpd.shutdown()
        httpd.server_close()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind = self.path.strip("/").removesuffix(".mat")
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", "http://localhost:9/good.mat")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif kind in ("good", "bad", "short", "slow"):
            content = _CONTENT[:-1] + b"?" if kind == "bad" else _CONTENT
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            step = len(content) // 10
            for part in range(0, len(content), step):
                if kind == "short" and part > 3 * step:
                    return
                self.wfile.write(content[part : part + step])
                if kind == "slow":
                    time.sleep(0.03)
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        pass
