"""Kept work names the file or folder that cannot hold it, and says what to do."""

import asyncio
from pathlib import Path

import pytest

from pipelines.resources.cache.record_cache import SqlRecordCache
from pipelines.resources.storage.errors import StoreError


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "work.sqlite"
    path.write_bytes(b"not a database " * 100)
    work = SqlRecordCache(path)
    with pytest.raises(StoreError, match=r"work\.sqlite is not a SQLite database; move it away"):
        asyncio.run(work.put("key", b""))
    path.unlink()
    asyncio.run(work.put("key", b"made anew"))
    assert asyncio.run(work.get("key")) == b"made anew"
    work.close()


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "work.sqlite", tmp_path / "folder"):
        with pytest.raises(StoreError, match=f"{path} cannot be opened; make the file and its folder writable"):
            asyncio.run(SqlRecordCache(path).put("key", b""))
