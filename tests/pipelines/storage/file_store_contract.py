"""What every files keeps, whatever it is made of; each files's own tests run these."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from assets.amemgym.records.question import Question, QuestionSet
from assets.engine.ports import SnapshotRef
from assets.engine.serialized_record import serialized_rows
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.verify import verify_release
from dataset_card.release_store.folder import FolderReleaseWriter, ReleaseConflict, ReleaseWriter
from dataset_card.release_store.store import find_release
from pipelines.resources.storage.file_store import FileStore
from pipelines.resources.storage.object_store import ObjectStore
from pipelines.resources.storage.release_writer import ObjectReleaseWriter
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.releases import all_bytes, content


def draft_of(files: FileStore, **texts: str) -> Path:
    draft = files.draft("folder")
    for name, text in texts.items():
        (draft / name).write_text(text)
    return draft


def row(position: int) -> QuestionSet:
    question = Question(question_id="q1", text="What now?", required_info=())
    return QuestionSet(user_id=f"u{position}", questions=(question,))


def snapshot(store: ParquetSnapshots, parts: Sequence[Sequence[int]]) -> SnapshotRef:
    writer = store.writer("questions", unit="demo")
    for part in parts:
        writer.add("questions", serialized_rows((position, row(position)) for position in part))
    return writer.finish([])


class FileStoreContract:
    """A fixture `files` makes an empty file store, `forget` deletes a file of it."""

    def test_a_file_is_read_as_it_was_written_last(self, files: FileStore) -> None:
        for words in (b"first", b"second"):
            files.write("values/a.json", words)
        assert files.read("values/a.json") == b"second"
        assert files.names() == ["values/a.json"]
        with files.open("values/a.json") as file:
            assert file.read() == b"second"

    def test_a_missing_file_is_file_not_found(self, files: FileStore) -> None:
        assert files.names("nowhere") == []
        for read in (files.read, files.open):
            with pytest.raises(FileNotFoundError):
                read("nowhere/a.json")

    def test_a_draft_is_visible_when_it_is_committed_and_not_before(self, files: FileStore) -> None:
        draft = draft_of(files, part="1", complete="all there")
        assert files.names() == []
        assert files.commit(draft, "folder/7", last="complete")
        assert files.names("folder") == ["folder/7/complete", "folder/7/part"]
        assert not draft.exists()

    def test_what_is_committed_stays_unless_it_is_overwritten(self, files: FileStore) -> None:
        assert files.commit(draft_of(files, part="1", complete="1"), "folder/7", last="complete")
        second = draft_of(files, part="other", complete="2")
        assert not files.commit(second, "folder/7", last="complete")
        assert files.read("folder/7/complete") == b"1"
        assert files.commit(second, "folder/7", last="complete", overwrite=True)
        assert [files.read(f"folder/7/{name}") for name in ("part", "complete")] == [b"other", b"2"]

    def test_snapshots_come_back(self, files: FileStore) -> None:
        store = ParquetSnapshots(files)
        ref = snapshot(store, [[0, 2], [4]])
        assert store.read(ref, "questions", record=QuestionSet, positions=[2, 4]) == {2: row(2), 4: row(4)}

    def test_writers_of_the_same_rows_in_other_parts_leave_each_other_whole(self, files: FileStore) -> None:
        store = ParquetSnapshots(files)
        cuts = ([[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0], [1, 2, 3]], [[0], [1], [2], [3]])
        with ThreadPoolExecutor(len(cuts)) as writers:
            refs = list(writers.map(partial(snapshot, store), cuts))
        assert len({ref.digest for ref in refs}) == 1
        kept = snapshot(store, [[0, 1, 2, 3]])
        assert store.read(kept, "questions", record=QuestionSet) == {position: row(position) for position in range(4)}

    def test_a_snapshot_that_lost_a_file_is_made_whole(self, files: FileStore, forget: Callable[[str], None]) -> None:
        store = ParquetSnapshots(files)
        ref = snapshot(store, [[0, 1]])
        forget(ref.parts[0].path)
        assert snapshot(store, [[0, 1]]) == ref
        assert set(store.read(ref, "questions", record=QuestionSet)) == {0, 1}


class ReleaseStoreContract:
    """A fixture `release_store` makes an empty one."""

    def test_a_release_is_written_once_found_and_whole(self, release_store: ReleaseWriter, tmp_path: Path) -> None:
        released = release_store.write(content(), version="auto")
        alone = FolderReleaseWriter(tmp_path / "alone").write(content(), version="auto")
        assert (released.created, released.digest) == (True, alone.digest)
        assert not release_store.write(content(), version="auto").created
        found = find_release(release_store, released.manifest.variant)
        assert found is not None
        assert verify_release(found) == []
        assert all_bytes(found) == all_bytes(alone.folder)
        assert find_release(release_store, "another") is None

    def test_the_next_version_is_compared_with_the_newest_in_the_store(self, release_store: ReleaseWriter) -> None:
        first = release_store.write(content(), version="auto")
        second = release_store.write(content(generator="amemgym-synth 9.9"), version="auto")
        assert (first.version, second.version) == ("0.1.0", "0.1.1")
        assert second.manifest.previous is not None
        assert release_store.versions(first.manifest.variant) == ["0.1.0", "0.1.1"]

    def test_a_released_version_is_never_replaced_and_a_missing_one_named(self, release_store: ReleaseWriter) -> None:
        variant = release_store.write(content(), version="1.0.0").manifest.variant
        with pytest.raises(ReleaseConflict, match=r"Version 1\.0\.0 .* already released with other content"):
            release_store.write(content(generator="amemgym-synth 9.9"), version="1.0.0")
        with pytest.raises(ReleaseError, match=r"has no version 2\.0\.0; there are 1\.0\.0\."):
            find_release(release_store, variant, version="2.0.0")

    def test_errata_beside_the_versions_are_part_of_the_release(self, release_store: ReleaseWriter, notes: Path) -> None:
        home = notes / content().recipe.variant
        home.mkdir(parents=True)
        (home / "errata.yaml").write_text("[nonsense", encoding="utf-8")
        with pytest.raises(ReleaseError, match=r"errata\.yaml"):
            release_store.write(content(), version="auto")


class ObjectStoreContract(FileStoreContract):
    """A fixture `url` is the address of an empty object store."""

    @pytest.fixture
    def files(self, url: str, tmp_path: Path) -> FileStore:
        return ObjectStore(url, "snapshots", cache=tmp_path / "cache")

    @pytest.fixture
    def forget(self, url: str, tmp_path: Path) -> Callable[[str], None]:
        return lambda name: ObjectStore(url, "snapshots", cache=tmp_path / "cache").delete([name])


class ObjectReleaseStoreContract(ReleaseStoreContract):
    """A fixture `url` is the address of an empty object store."""

    @pytest.fixture
    def release_store(self, url: str, notes: Path, tmp_path: Path) -> ReleaseWriter:
        return ObjectReleaseWriter(ObjectStore(url, "releases", cache=tmp_path / "cache"), notes=notes)
