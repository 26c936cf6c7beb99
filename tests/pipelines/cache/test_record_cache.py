"""Kept work names the file or folder that cannot hold it, and says what to do."""

import asyncio
from pathlib import Path

import pytest

from pipelines.errors import StoreError
from pipelines.resources.cache.reply_cache import SqlRecordCache


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "work.sqlite"
    path.write_bytes(b"not a database " * 100)
    work = SqlRecordCache(path)
    with pytest.raises(StoreError, match=r"work\.sqlite is not a SQLite database; amemgym doctor --repair sets it aside"):
        asyncio.run(work.put("key", b""))
    path.unlink()
    asyncio.run(work.put("key", b"made anew"))
    assert asyncio.run(work.get("key")) == b"made anew"
    work.close()


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path, reason in (
        (tmp_path / "file" / "work.sqlite", "cannot be opened; make the file and its folder writable"),
        (tmp_path / "folder", "is a folder, not a database; amemgym doctor --repair"),
    ):
        with pytest.raises(StoreError, match=f"{path} {reason}"):
            asyncio.run(SqlRecordCache(path).put("key", b""))


def test_a_record_with_characters_that_no_check_lets_through_is_made_again(tmp_path: Path) -> None:
    work = SqlRecordCache(tmp_path / "work.sqlite")
    good = b'{}\n{"text": "a path such as C:\\\\books \\n"}'
    for key, record in {"nul": b'{}\n{"text": "a \\u0000"}', "lost": '{}\n{"text": "\ufffd"}'.encode(), "good": good}.items():
        asyncio.run(work.put(key, record))
    assert [asyncio.run(work.get(key)) for key in ("nul", "lost", "good")] == [None, None, good]
    asyncio.run(work.put("nul", good))
    assert asyncio.run(work.get("nul")) == good
    work.close()
