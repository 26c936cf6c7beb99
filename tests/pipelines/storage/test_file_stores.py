"""Snapshots, values and releases in a folder and in an object store: both keep the same contract."""

import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Lock, Thread

import pytest

from dataset_card.release.verify import verify_release
from dataset_card.release_store.folder import FolderReleaseWriter, ReleaseWriter
from pipelines.errors import StoreError
from pipelines.evaluation.amemgym.tasks import open_amemgym
from pipelines.home import Home, home
from pipelines.resources.storage.file_store import FileStore, LocalFiles
from pipelines.resources.storage.object_store import ObjectStore
from pipelines.resources.storage.open_stores import open_release_store, release_at, snapshot_files, value_files
from pipelines.resources.storage.release_writer import ObjectReleaseWriter, open_release_writer
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.pipelines.storage.file_store_contract import (
    FileStoreContract,
    ObjectReleaseStoreContract,
    ObjectStoreContract,
    ReleaseStoreContract,
)
from tests.support.releases import content
from tests.support.waiting import LONG

VARIANT = content().recipe.variant


@pytest.fixture
def url() -> str:
    """An object store in this process's memory, without folders and renames like all of them."""
    return f"memory://{secrets.token_hex(8)}/synth"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "releases"


class TestLocalFiles(FileStoreContract):
    @pytest.fixture
    def files(self, tmp_path: Path) -> FileStore:
        return LocalFiles(tmp_path / "files")

    @pytest.fixture
    def forget(self, tmp_path: Path) -> Callable[[str], None]:
        return lambda name: (tmp_path / "files" / name).unlink()


class TestAnObjectStore(ObjectStoreContract):
    pass


class TestAReleaseStoreInAFolder(ReleaseStoreContract):
    @pytest.fixture
    def release_store(self, notes: Path) -> ReleaseWriter:
        return FolderReleaseWriter(notes)


class TestAReleaseStoreInAnObjectStore(ObjectReleaseStoreContract):
    pass


@pytest.fixture
def remote(url: str, tmp_path: Path) -> Home:
    return Home(tmp_path / "home", url)


def test_what_a_killed_writer_left_of_a_release_is_taken_over(remote: Home, url: str, tmp_path: Path) -> None:
    store = ObjectStore(url, "releases", cache=tmp_path / "cache")
    for name in ("LICENSE", "tables/base/gone.parquet"):
        store.write(f"{VARIANT}/0.1.0/{name}", b"of a writer that was killed")
    assert open_release_store(remote).versions(VARIANT) == []
    released = open_release_writer(remote).write(content(), version="auto")
    assert released.version == "0.1.0"
    assert verify_release(open_release_store(remote).folder(VARIANT, "0.1.0", fresh=True)) == []


def test_another_machine_reads_the_release_and_a_changed_object_shows(
    remote: Home, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{open_release_store(remote).address}/{VARIANT}/0.1.0"
    digest = open_release_writer(remote).write(content(), version="auto").digest
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("AMEMGYM_STORE", url)
    elsewhere = home()
    for files in (VARIANT, f"{VARIANT}@0.1.0", address):
        assert open_amemgym(files, release_store=open_release_store(elsewhere)).dataset.digest == digest
    ObjectStore(url, "releases", cache=tmp_path / "cache").write(f"{VARIANT}/0.1.0/LICENSE", b"changed")
    assert verify_release(release_at(address, home=elsewhere)) == []
    assert "LICENSE" in verify_release(release_at(address, home=elsewhere, fresh=True))[0]
    with pytest.raises(StoreError, match=rf"{VARIANT}/9\.9\.9 is not a release"):
        release_at(address.replace("0.1.0", "9.9.9"), home=elsewhere)


def test_a_store_may_be_a_shared_folder(tmp_path: Path) -> None:
    for store in (f"{tmp_path}/shared", f"file://{tmp_path}/shared"):
        assert snapshot_files(Home(tmp_path / "home", store)).address == f"{tmp_path}/shared/snapshots"
        assert open_release_store(Home(tmp_path / "home", store)).address == f"{tmp_path}/shared/releases"


def test_the_store_is_named_in_the_environment(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AMEMGYM_STORE", url)
    assert value_files(home()).address == f"{url}/values"


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        ("s3://name:hush-hush@lab/synth", r"AMEMGYM_STORE must not contain a key, so no @; name the bucket only"),
        (
            "nosuch://lab/synth",
            r"AMEMGYM_STORE is one that no installed library can open: Protocol not known: nosuch\.",
        ),
        ("s3://", r"AMEMGYM_STORE names no bucket"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_sentence_without_a_secret(store: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=sentence) as caught:
        value_files(Home(tmp_path, store)).names()
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("store", "problem"), [("s3://name:hush-hush@lab", "must not contain a key"), ("nosuch://lab", "is one")]
)
def test_an_address_of_a_command_is_not_blamed_on_a_variable(store: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"The address {problem}") as caught:
        release_at(f"{store}/demo/0.1.0", home=Home(tmp_path, ""))
    assert "AMEMGYM_STORE" not in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "store",
    [
        "s3://NAME:hu/sh@lab/synth",
        "s3://NAME:hu@sh@lab/synth",
        "gs://NAME:hush?a=b@lab/synth",
        "abfs://box:hu/sh@account.dfs.core.windows.net/x",
    ],
)
def test_a_key_in_an_address_is_refused_whatever_it_is_made_of_and_not_repeated(store: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must not contain a key, so no @") as caught:
        value_files(Home(tmp_path, store)).names()
    assert not any(part in f"{caught.value} {caught.value.__cause__}" for part in ("NAME", "hu", "lab"))


def test_a_container_of_an_azure_account_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Unexpected query parameter"):
        value_files(Home(tmp_path, "abfs://box@account.dfs.core.windows.net/x?nosuch=1")).names()


class DownloadingTogether(ObjectStore):
    """Two processes have both downloaded the objects before either replaces its copy.

    One after the other: two readers of one object in this process's memory would move each other's position in it.
    """

    both = Barrier(2)
    turn = Lock()

    def download(self, wanted: Mapping[str, Path]) -> None:
        with self.turn:
            super().download(wanted)
        self.both.wait(LONG)


def test_two_that_download_a_release_at_once_have_one_whole_copy(remote: Home, url: str, notes: Path, tmp_path: Path) -> None:
    digest = open_release_writer(remote).write(content(), version="auto").digest
    release_store = ObjectReleaseWriter(DownloadingTogether(url, "releases", cache=tmp_path / "fresh"), notes=notes)
    with ThreadPoolExecutor(2) as processes:
        fetching = [processes.submit(release_store.folder, VARIANT, "0.1.0") for _ in range(2)]
        one, other = (copy.result() for copy in fetching)
    assert one == other
    assert verify_release(one) == []
    assert [path.name for path in one.parent.iterdir()] == ["0.1.0"]
    assert open_amemgym(str(one), release_store=open_release_store(remote)).dataset.digest == digest


class RefusingStore(BaseHTTPRequestHandler):
    """An S3 server that answers HEAD and denies GET."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_store_that_fails_while_a_snapshot_is_read_is_not_reported_as_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = ParquetSnapshots(tmp_path / "own").writer("questions", unit="demo").finish([])
    with ThreadingHTTPServer(("127.0.0.1", 0), RefusingStore) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
        url = f"s3://lab/synth?region=any&scheme=http&endpoint_override=127.0.0.1:{server.server_address[1]}"
        with pytest.raises(StoreError, match=r"s3://lab/synth/snapshots does not accept the key"):
            ParquetSnapshots(ObjectStore(url, "snapshots", cache=tmp_path / "cache")).failures(ref)
        server.shutdown()
