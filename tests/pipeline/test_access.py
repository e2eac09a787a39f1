"""Who can reach a run: where it listens, TLS to a cluster of somebody else, modes of its files."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import dask
import psutil
import pytest
from distributed import LocalCluster, Security

from graphtide.config.settings import load_settings
from graphtide.gpu_core.errors import ClusterError
from graphtide.pipeline.ingest import run
from graphtide.pipeline.workers.cluster import open_cluster
from graphtide.pipeline.workers.scheduler_probe import check_scheduler
from made_state import apply_log
from small_log import BATCH_ROWS, expected_hash
from waiting import PATIENCE

LOOPBACK = ("127.0.0.1", "::1")


def test_the_dashboard_is_made_when_asked_for_and_all_listen_on_loopback_alone() -> None:
    with open_cluster(load_settings({"workers": 1})) as cluster:
        cluster.roles()
        assert cluster.dashboard is not None
        address = cluster.dashboard.removesuffix("/graphtide")  # the page of a run: there is none
        # Two at once, as of a browser with two tabs; then a page that only Bokeh has.
        with ThreadPoolExecutor(2) as threads:
            pages = [*threads.map(read, [f"{address}/status"] * 2)]
        pages.append(read(f"{address}/individual-task-stream"))
        assert ["bokeh" in page.lower() for page in pages] == [True, True, True]
        with pytest.raises(HTTPError, match="404"):
            read(f"{address}/no-such-page")
        us = psutil.Process()
        listening = [
            (process.name(), each.laddr.ip)
            for process in (us, *us.children(recursive=True))
            for each in process.net_connections()
            if each.status == psutil.CONN_LISTEN or each.type == socket.SOCK_DGRAM
        ]
    assert len(listening) >= 3
    assert [each for each in listening if each[1] not in LOOPBACK] == []


def read(address: str) -> str:
    with urlopen(address, timeout=PATIENCE) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Dask's settings for certificates that an authority of our own has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl, which is not here")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "rsa:2048", "-nodes", "-days", "1"]
    openssl("req", "-x509", *new_key, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *new_key, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request")
    openssl(
        "x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
        "-days", "1", "-out", "cert.pem",
    )  # fmt: skip
    settings = {"distributed.comm.tls.ca-file": str(folder / "ca.pem")}
    for role in ("client", "scheduler", "worker"):
        settings[f"distributed.comm.tls.{role}.cert"] = str(folder / "cert.pem")
        settings[f"distributed.comm.tls.{role}.key"] = str(folder / "key.pem")
    return settings


@pytest.fixture(scope="module")
def tls_scheduler(certificates: dict[str, str]) -> Iterator[str]:
    """A cluster of somebody else, which speaks TLS alone."""
    with dask.config.set(certificates):
        security = Security(require_encryption=True)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0,
        protocol="tls://", security=security,
    ) as cluster:  # fmt: skip
        assert cluster.scheduler_address.startswith("tls://")
        yield cluster.scheduler_address


def test_a_run_uses_the_certificates_of_dasks_settings(
    log: Path, tmp_path: Path, tls_scheduler: str, certificates: dict[str, str]
) -> None:
    settings = load_settings({"scheduler": tls_scheduler, "batch_rows": BATCH_ROWS})
    with dask.config.set(certificates):
        summary = run(str(log), str(tmp_path / "state"), settings)
    assert summary.state_hash == expected_hash()


def test_a_run_without_certificates_is_refused_with_a_sentence(
    log: Path, tmp_path: Path, tls_scheduler: str
) -> None:
    settings = load_settings({"scheduler": tls_scheduler, "start_timeout": "2s"})
    with pytest.raises(ClusterError, match=r"distributed\.comm\.tls"):
        run(str(log), str(tmp_path / "state"), settings)


def test_certificates_that_do_not_do_are_named_as_the_cause(
    tls_scheduler: str, certificates: dict[str, str], tmp_path: Path
) -> None:
    ours = "distributed.comm.tls"
    strangers = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=b", *strangers],
        check=True, capture_output=True,
    )  # fmt: skip
    of_strangers = {
        f"{ours}.client.{name}": str(tmp_path / f"{name}.pem") for name in ("cert", "key")
    }
    another_authority = {f"{ours}.ca-file": str(tmp_path / "cert.pem")}
    no_file = {f"{ours}.client.key": str(tmp_path / "nothing.pem")}
    for wrong, reason in (
        (no_file, "cannot be read .*No such file"),
        ({f"{ours}.client.key": str(tmp_path / "key.pem")}, "cannot be read .*mismatch"),
        (another_authority, "no Dask scheduler answers .*verify failed"),
        (of_strangers, "no Dask scheduler answers"),
    ):
        with (
            dask.config.set({**certificates, **wrong}),
            pytest.raises(
                ClusterError, match=rf"{reason}.*client\.key below distributed\.comm\.tls"
            ),
        ):
            check_scheduler(tls_scheduler)
    with pytest.raises(ClusterError, match="which begins with tls:// if it has TLS"):
        check_scheduler(tls_scheduler.replace("tls://", "tcp://"))


@pytest.mark.parametrize("umask", [0o077, 0o027])
def test_files_of_a_state_are_as_open_as_the_umask_says(
    log: Path, tmp_path: Path, umask: int
) -> None:
    state = tmp_path / "state"
    before = os.umask(umask)
    try:
        apply_log(log, state, 10, batch_rows=BATCH_ROWS, bad_rows="quarantine")
    finally:
        os.umask(before)
    made = [state, *state.rglob("*")]
    assert len(made) > 10
    assert [path for path in made if path.stat().st_mode & umask] == []
