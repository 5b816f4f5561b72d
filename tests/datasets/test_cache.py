"""Folders, checksums and downloads, the last from a real https server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import os
import shutil
import ssl
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.io

from unispectral.datasets import _registry, dataset_info, fetch
from unispectral.datasets._registry import File, cache_folder, locate

CONTENT = bytes(range(256)) * 64
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNISPECTRAL_DATA", raising=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Serve files over https with a certificate made for the occasion."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate for the test server")
    folder = tmp_path_factory.mktemp("server")
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
    request += "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem"
    made = subprocess.run(["openssl", *request.split()], cwd=folder, capture_output=True)
    if made.returncode:
        pytest.skip("this openssl cannot make a certificate")
    (folder / "good.mat").write_bytes(CONTENT)
    (folder / "bad.mat").write_bytes(CONTENT[:-1] + b"?")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def do_GET(self):
            if self.path == "/moved.mat":
                self.send_response(302)
                self.send_header("Location", "http://localhost:9/good.mat")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.path == "/short.mat":
                self.send_response(200)
                self.send_header("Content-Length", str(len(CONTENT)))
                self.end_headers()
                self.wfile.write(CONTENT[:1000])
            else:
                super().do_GET()

        def log_message(self, *args):
            pass

    httpd = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"https://localhost:{httpd.server_port}", folder / "cert.pem"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def origin(server, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(server[1]))
    return server[0]


def names(folder):
    return sorted(os.listdir(folder))


def test_download_is_checked_and_kept(origin, tmp_path):
    file = File("good.mat", SHA256, f"{origin}/good.mat")
    path = locate(file, tmp_path / "home", True)
    assert path == tmp_path / "home" / "good.mat"
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["good.mat"]
    assert locate(file, tmp_path / "home", False) == path
    cached = locate(file, None, True)
    assert cached == cache_folder() / "good.mat"
    assert tmp_path in cached.parents


@pytest.mark.parametrize("name", ["bad", "moved"])
def test_wrong_content_from_the_network(origin, tmp_path, name):
    file = File("good.mat", SHA256, f"{origin}/{name}.mat")
    with pytest.raises(ValueError, match=rf"{name}\.mat sent is not .*; nothing was kept"):
        locate(file, tmp_path, True)
    assert not (tmp_path / "good.mat").exists()


@pytest.mark.parametrize("name", ["absent", "short"])
def test_failed_download(origin, tmp_path, name):
    file = File("good.mat", SHA256, f"{origin}/{name}.mat")
    with pytest.raises(ConnectionError, match=r"could not be fetched from .*; check the network"):
        locate(file, tmp_path, True)
    assert names(tmp_path) == []


def test_offline(tmp_path):
    pytest.importorskip("pooch")
    file = File("good.mat", SHA256, "https://localhost:9/good.mat")
    with pytest.raises(ConnectionError, match=r"'good.mat' is not in .* could not be fetched"):
        locate(file, tmp_path, True)
    with pytest.raises(FileNotFoundError, match="put it there, or allow the download"):
        locate(file, tmp_path, False)
    assert names(tmp_path) == []


def test_only_https(tmp_path):
    with pytest.raises(ValueError, match="not an https address"):
        locate(File("a.mat", SHA256, "http://localhost/a.mat"), tmp_path, True)


def test_order_of_the_folders(tmp_path, monkeypatch):
    file = File("good.mat", SHA256, "https://localhost:9/good.mat")
    cache = cache_folder()
    folders = [tmp_path / "home", tmp_path / "env", cache]
    monkeypatch.setenv("UNISPECTRAL_DATA", str(folders[1]))
    for folder in reversed(folders):
        folder.mkdir(parents=True)
        (folder / "good.mat").write_bytes(CONTENT)
        assert locate(file, folders[0], False).parent == folder
    assert locate(file, None, False).parent == folders[1]


def test_wrong_copy_in_a_folder(tmp_path):
    (tmp_path / "good.mat").write_bytes(b"other")
    file = File("good.mat", SHA256, "https://localhost:9/good.mat")
    with pytest.raises(ValueError, match=r"good.mat' is not the registered .*sha256 begins"):
        locate(file, tmp_path, True)
    assert (tmp_path / "good.mat").read_bytes() == b"other"


def test_a_gzip_file_is_known_by_its_content(tmp_path):
    """However it was compressed; what is no gzip file, or not all of one, is refused."""
    path = tmp_path / "good.gz"
    file = File("good.gz", SHA256, "https://localhost:9/good.gz")
    for level in (1, 9):
        path.write_bytes(gzip.compress(CONTENT, level))
        assert locate(file, tmp_path, False) == path
    for wrong in (gzip.compress(CONTENT[1:]), gzip.compress(CONTENT)[:-9], CONTENT, b""):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"good\.gz' is not the registered .*; delete it"):
            locate(file, tmp_path, False)


def test_folder_that_cannot_be_made(tmp_path):
    pytest.importorskip("pooch")
    (tmp_path / "file").write_text("x")
    file = File("good.mat", SHA256, "https://localhost:9/good.mat")
    with pytest.raises(OSError, match=r"Cannot make the folder .*another one as data_home"):
        locate(file, tmp_path / "file" / "sub", True)


def test_without_pooch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() == tmp_path / "cache" / "unispectral"
    file = File("good.mat", SHA256, "https://localhost:9/good.mat")
    with pytest.raises(ImportError, match=r"pip install 'unispectral\[data\]'"):
        locate(file, tmp_path, True)


def test_two_processes_at_once(origin, tmp_path):
    code = """
        import sys
        from unispectral.datasets._registry import File, locate
        sha256, url, home = sys.argv[1:]
        print(locate(File("good.mat", sha256, url), home, True).read_bytes()[:1])
    """
    home = tmp_path / "home"
    arguments = [SHA256, f"{origin}/good.mat", str(home)]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *arguments], stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    assert [run.communicate()[0] for run in runs] == [b"b'\\x00'\n"] * 2
    assert [run.returncode for run in runs] == [0, 0]
    assert names(home) == ["good.mat"]


def test_file_with_the_right_checksum_and_the_wrong_content(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "YALE_165n_1024d_15c_zscore_uni.mat", {"X": np.eye(3), "y": 1})
    monkeypatch.setattr(_registry, "_check", lambda *_: None)
    with pytest.raises(ValueError, match="'yale' does not hold what the registry says"):
        fetch("yale", data_home=tmp_path)


def test_missing_file_is_named(tmp_path):
    file = dataset_info("tdt2").file
    with pytest.raises(FileNotFoundError, match=rf"'{file.name}' is not in '{tmp_path}"):
        fetch("tdt2", data_home=tmp_path, download=False)
