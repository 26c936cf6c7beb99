"""What every place keeps, whatever it is made of; each place's own tests run these."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import duckdb
import pytest

from assets.amemgym.records.question import Question, QuestionSet
from assets.engine.serialized_record import serialized_rows
from assets.llm.ports import SnapshotRef
from dataset_card.release.errors import ReleaseError
from dataset_card.release.folder import ReleaseConflict
from dataset_card.release.store import FolderReleaseStore, ReleaseStore, find_release
from dataset_card.release.verify import verify_release
from pipelines.resources.storage.explorer import views
from pipelines.resources.storage.filesystem import Place
from pipelines.resources.storage.object_store import Bucket
from pipelines.resources.storage.release_store import ObjectReleaseStore
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.dataset_card.releases import all_bytes, content


def draft_of(place: Place, **files: str) -> Path:
    draft = place.draft("box")
    for name, text in files.items():
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


class PlaceContract:
    """A fixture `place` brings an empty one, `forget` loses a file of it."""

    def test_a_file_is_read_as_it_was_written_last(self, place: Place) -> None:
        for words in (b"first", b"second"):
            place.write("values/a.json", words)
        assert place.read("values/a.json") == b"second"
        assert place.names() == ["values/a.json"]
        with place.open("values/a.json") as file:
            assert file.read() == b"second"

    def test_what_is_not_there_is_told_as_such(self, place: Place) -> None:
        assert place.names("nowhere") == []
        for read in (place.read, place.open):
            with pytest.raises(FileNotFoundError):
                read("nowhere/a.json")

    def test_a_draft_is_seen_when_it_has_settled_and_not_before(self, place: Place) -> None:
        draft = draft_of(place, part="1", sign="all there")
        assert place.names() == []
        assert place.settle(draft, "box/7", last="sign")
        assert place.names("box") == ["box/7/part", "box/7/sign"]
        assert not draft.exists()

    def test_what_has_settled_stays_unless_it_is_taken_over(self, place: Place) -> None:
        assert place.settle(draft_of(place, part="1", sign="1"), "box/7", last="sign")
        second = draft_of(place, part="other", sign="2")
        assert not place.settle(second, "box/7", last="sign")
        assert place.read("box/7/sign") == b"1"
        assert place.settle(second, "box/7", last="sign", anew=True)
        assert [place.read(f"box/7/{name}") for name in ("part", "sign")] == [b"other", b"2"]

    def test_a_file_can_be_had_on_this_machine(self, place: Place) -> None:
        place.write("box/7/part", b"1")
        assert [place.local("box/7/part").read_bytes() for _ in range(2)] == [b"1", b"1"]

    def test_snapshots_come_back_and_can_be_asked_in_sql(self, place: Place) -> None:
        store = ParquetSnapshots(place)
        ref = snapshot(store, [[0, 2], [4]])
        assert store.read(ref, "questions", record=QuestionSet, positions=[2, 4]) == {2: row(2), 4: row(4)}
        with duckdb.connect() as connection:
            assert views(place, connection=connection) == ["failures", "questions"]
            assert connection.execute("SELECT position FROM questions ORDER BY 1").fetchall() == [(0,), (2,), (4,)]

    def test_writers_of_the_same_rows_in_other_parts_leave_each_other_whole(self, place: Place) -> None:
        store = ParquetSnapshots(place)
        cuts = ([[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0], [1, 2, 3]], [[0], [1], [2], [3]])
        with ThreadPoolExecutor(len(cuts)) as writers:
            refs = list(writers.map(partial(snapshot, store), cuts))
        assert len({ref.digest for ref in refs}) == 1
        kept = snapshot(store, [[0, 1, 2, 3]])
        assert store.read(kept, "questions", record=QuestionSet) == {position: row(position) for position in range(4)}

    def test_a_snapshot_that_lost_a_file_is_made_whole(self, place: Place, forget: Callable[[str], None]) -> None:
        store = ParquetSnapshots(place)
        ref = snapshot(store, [[0, 1]])
        forget(ref.parts[0].path)
        assert snapshot(store, [[0, 1]]) == ref
        assert set(store.read(ref, "questions", record=QuestionSet)) == {0, 1}


class ShelfContract:
    """A fixture `release_store` brings an empty one."""

    def test_a_release_is_written_once_found_and_whole(self, release_store: ReleaseStore, tmp_path: Path) -> None:
        released = release_store.write(content(), version="auto")
        alone = FolderReleaseStore(tmp_path / "alone").write(content(), version="auto")
        assert (released.created, released.digest) == (True, alone.digest)
        assert not release_store.write(content(), version="auto").created
        found = find_release(release_store, released.manifest.variant)
        assert found is not None
        assert verify_release(found) == []
        assert all_bytes(found) == all_bytes(alone.folder)
        assert find_release(release_store, "another") is None

    def test_the_next_version_is_compared_with_the_newest_on_the_shelf(self, release_store: ReleaseStore) -> None:
        first = release_store.write(content(), version="auto")
        second = release_store.write(content(generator="amemgym-synth 9.9"), version="auto")
        assert (first.version, second.version) == ("0.1.0", "0.1.1")
        assert second.manifest.previous is not None
        assert release_store.versions(first.manifest.variant) == ["0.1.0", "0.1.1"]

    def test_a_released_version_is_never_replaced_and_a_missing_one_named(self, release_store: ReleaseStore) -> None:
        variant = release_store.write(content(), version="1.0.0").manifest.variant
        with pytest.raises(ReleaseConflict, match=r"Version 1\.0\.0 .* already released with other content"):
            release_store.write(content(generator="amemgym-synth 9.9"), version="1.0.0")
        with pytest.raises(ReleaseError, match=r"has no version 2\.0\.0; there are 1\.0\.0\."):
            find_release(release_store, variant, version="2.0.0")

    def test_errata_beside_the_versions_are_part_of_the_release(self, release_store: ReleaseStore, notes: Path) -> None:
        home = notes / content().recipe.variant
        home.mkdir(parents=True)
        (home / "errata.yaml").write_text("[nonsense", encoding="utf-8")
        with pytest.raises(ReleaseError, match=r"errata\.yaml"):
            release_store.write(content(), version="auto")


class BucketContract(PlaceContract):
    """A fixture `url` brings the address of an empty object store."""

    @pytest.fixture
    def place(self, url: str, tmp_path: Path) -> Place:
        return Bucket(url, "snapshots", aside=tmp_path / "aside")

    @pytest.fixture
    def forget(self, url: str, tmp_path: Path) -> Callable[[str], None]:
        return lambda name: Bucket(url, "snapshots", aside=tmp_path / "aside").delete([name])


class BucketShelfContract(ShelfContract):
    """A fixture `url` brings the address of an empty object store."""

    @pytest.fixture
    def release_store(self, url: str, notes: Path, tmp_path: Path) -> ReleaseStore:
        return ObjectReleaseStore(Bucket(url, "releases", aside=tmp_path / "aside"), notes=notes)
