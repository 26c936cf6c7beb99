"""Snapshots, values and releases on OpenStack Swift through its S3 API: the promises of every files, and whole runs."""

import secrets
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyarrow import fs
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import StoreError
from pipelines.home import Home
from pipelines.resources.storage.file_store import FileStore
from pipelines.resources.storage.object_store import ObjectStore
from pipelines.resources.storage.open_stores import value_files
from tests.extras.swift_server import SECRET, SwiftServer, swift_server
from tests.pipelines.chained import SMALL
from tests.pipelines.storage.file_store_contract import ObjectReleaseStoreContract, ObjectStoreContract, draft_of
from tests.support.commands import amemgym, amemgym_here

USES: tuple[Callable[[FileStore], object], ...] = (
    lambda files: files.names(),
    lambda files: files.read("a"),
    lambda files: files.write("a", b"1"),
)
RELEASE = "releases/demo/0.1.0/manifest.json"


@pytest.fixture(scope="module")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwiftServer]:
    with swift_server(tmp_path_factory.mktemp("swift") / "here") as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        files, _ = fs.FileSystem.from_uri("s3://lab?allow_bucket_creation=true")
        files.create_dir("lab")
        yield store


@pytest.fixture
def url(swift: SwiftServer) -> str:
    return f"s3://lab/{secrets.token_hex(6)}"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "releases"


class TestAnS3Bucket(ObjectStoreContract):
    pass


class TestAReleaseStoreInAnS3Bucket(ObjectReleaseStoreContract):
    pass


def test_abandoned_files_are_deleted_and_what_is_whole_or_young_stays(url: str, tmp_path: Path) -> None:
    young = ObjectStore(url, "", cache=tmp_path)
    for name in ("folder/dead/part", "folder/whole/part", "folder/whole/complete"):
        young.write(name, b"1")
    assert young.commit(draft_of(young, complete="1"), "folder/7", last="complete")
    assert "folder/dead/part" in young.names()
    # The server rounds times up to whole seconds, so what was written just now may be of the future.
    old = ObjectStore(url, "", cache=tmp_path, abandoned_after=timedelta(seconds=-2))
    assert old.commit(draft_of(old, complete="1"), "folder/8", last="complete")
    assert old.names() == ["folder/7/complete", "folder/8/complete", "folder/whole/complete", "folder/whole/part"]


@pytest.mark.parametrize(
    ("store", "variables", "sentence"),
    [
        ("s3://nobody/x", {}, "There is no bucket 'nobody' at s3://nobody/x; make it, or name another in AMEMGYM_STORE"),
        ("s3://lab/x", {"AWS_SECRET_ACCESS_KEY": "wrong-secret"}, "s3://lab/x does not accept the key; check the credentials"),
        ("s3://lab/x", {"AWS_ACCESS_KEY_ID": "nobody"}, "s3://lab/x does not accept the key; check the credentials"),
        ("s3://lab/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://lab/x cannot be reached; check the network"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_sentence_without_a_secret(
    swift: SwiftServer, tmp_path: Path, store: str, variables: dict[str, str], sentence: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        # The client tries an address that nobody answers at for some seconds.
        for use in USES[:1] if "AWS_ENDPOINT_URL" in variables else USES:
            with pytest.raises(StoreError, match=sentence) as caught:
                use(value_files(Home(tmp_path, store)))
            assert SECRET not in str(caught.value)
            assert "wrong-secret" not in str(caught.value)


def read(*words: str) -> str:
    """The output of a command that ends well."""
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_killed_run_goes_on_to_the_release_of_a_local_disk_and_every_command_reads_it(
    url: str, finished_demo: Path, tmp_path: Path
) -> None:
    alone, machine = finished_demo, tmp_path / "machine"
    killed = amemgym(machine, "generate", "demo", *SMALL, AMEMGYM_STORE=url)
    store = ObjectStore(url, "", cache=tmp_path / "cache")
    while not any(name.startswith("snapshots/questions/") for name in store.names()):
        assert killed.poll() is None
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert RELEASE not in store.names()
    status, output = amemgym_here(machine, "generate", "demo", *SMALL, AMEMGYM_STORE=url)
    assert status == 0, output
    assert store.read(RELEASE) == (alone / RELEASE).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMEMGYM_HOME", str(tmp_path / "another"))
        assert "every file is as released" in read("verify", f"{url}/releases/demo/0.1.0")
        patch.setenv("AMEMGYM_STORE", url)
        assert "every file is as released" in read("verify", "demo")
        assert "are the same release" in read("diff", str((alone / RELEASE).parent), "demo")
        assert "how things stand" in read("show", "1")
        assert "For trying only" in read("quality", "demo")
        assert "demo 0.1.0" in read("evaluate", "demo", "--memory", "full-history", "--users", "1")
    assert SECRET not in "".join(path.read_text(errors="ignore") for path in tmp_path.rglob("*") if path.is_file())
