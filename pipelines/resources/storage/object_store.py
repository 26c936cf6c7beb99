"""The place that is an object store: S3 and what speaks its language, or another that pyarrow or fsspec can open.

Nothing there can be renamed, and a file is there whole or not at all. So a folder's files are sent first and the one that
readers look for last; whoever is killed before leaves files that nobody reads, and the next writer of the same takes
them over or, after a day, clears them away.
"""

import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from pipelines.resources.storage.filesystem import ABANDONED_SECONDS, draft_name, new_draft
from pipelines.resources.storage.object_store_errors import opened, told

AT_ONCE = 8
CHUNK = 1 << 20
ABANDONED = timedelta(seconds=ABANDONED_SECONDS)


class Bucket:
    """A place below `<url>/<prefix>`.

    `aside`: the folder on this machine for drafts, and for copies of what never changes. `patience`: after how long files
    without their last one are given up.
    """

    def __init__(self, url: str, prefix: str, *, aside: Path, patience: timedelta = ABANDONED) -> None:
        self._url = url
        self._prefix = prefix
        self._patience = patience
        # What two URLs hold must not be mixed up, and one place must not be fetched twice.
        self._aside = aside / sha256(f"{self.address}?{url.partition('?')[2]}".encode()).hexdigest()[:12]

    @property
    def address(self) -> str:
        """The URL without its options."""
        return f"{self._url.partition('?')[0].rstrip('/')}/{self._prefix}".rstrip("/")

    @property
    def copies(self) -> Path:
        """Where copies and drafts are, apart for each URL."""
        return self._aside

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        files, root = opened(self._url)
        return files, f"{root}/{self._prefix}".rstrip("/")

    def read(self, name: str) -> bytes:
        """The object's content."""
        with self.open(name) as stream, told(self.address):
            return stream.read()

    def open(self, name: str) -> pa.NativeFile:
        """The object, of which only what is asked for is sent."""
        files, root = self._opened
        with told(self.address):
            return files.open_input_file(f"{root}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """One object takes the place of another at once."""
        files, root = self._opened
        with told(self.address), files.open_output_stream(f"{root}/{name}") as stream:
            stream.write(content)

    def names(self, folder: str = "") -> list[str]:
        """By listing."""
        return sorted(self._infos(folder))

    def local(self, name: str) -> Path:
        """A copy, fetched the first time."""
        copy = self._aside / name
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            fresh = copy.with_name(draft_name())
            self.fetch({name: fresh})
            fresh.replace(copy)
        return copy

    def draft(self, folder: str) -> Path:
        """On this machine's disk."""
        return new_draft(self._aside / folder)

    def settle(self, draft: Path, name: str, *, last: str, anew: bool = False) -> bool:
        """Send the draft's files and drop it. Names follow from content, so that a file of the same size is the same."""
        there, sign = self._infos(name), f"{name}/{last}"
        if sign in there and not anew:
            return False
        files = {f"{name}/{path.name}": path for path in draft.iterdir()}
        sizes = {one: info.size for one, info in there.items()}
        self.send({one: path for one, path in files.items() if one != sign and sizes.get(one) != path.stat().st_size})
        self.send({sign: files[sign]})
        shutil.rmtree(draft)
        self._clear(name.rpartition("/")[0], last=last)
        return True

    def send(self, files: Mapping[str, Path]) -> None:
        """Copy files of this machine to objects, several at once, in no order."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._send, files.keys(), files.values()))

    def fetch(self, wanted: Mapping[str, Path]) -> None:
        """Copy objects to paths on this machine."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._fetch, wanted.keys(), wanted.values()))

    def _send(self, name: str, path: Path) -> None:
        files, root = self._opened
        with told(self.address), path.open("rb") as source, files.open_output_stream(f"{root}/{name}") as target:
            shutil.copyfileobj(source, target, CHUNK)

    def _fetch(self, name: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.open(name) as source, path.open("wb") as target, told(self.address):
            shutil.copyfileobj(source, target, CHUNK)

    def _infos(self, folder: str) -> dict[str, fs.FileInfo]:
        files, root = self._opened
        with told(self.address):
            selector = fs.FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True, recursive=True)
            found = files.get_file_info(selector)
        return {info.path.removeprefix(f"{root}/"): info for info in found if info.type == fs.FileType.File}

    def _clear(self, folder: str, *, last: str) -> None:
        """Delete what has been without its last file for too long."""
        homes: dict[str, list[fs.FileInfo]] = {}
        for name, info in self._infos(folder).items():
            homes.setdefault(name.rpartition("/")[0], []).append(info)
        for home, infos in homes.items():
            if home != folder and not any(info.base_name == last for info in infos) and self._given_up(infos):
                self.delete(f"{home}/{info.base_name}" for info in infos)

    def _given_up(self, infos: Iterable[fs.FileInfo]) -> bool:
        newest = max((info.mtime for info in infos if info.mtime is not None), default=None)
        return newest is not None and datetime.now(UTC) - newest > self._patience

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; those that are gone are as good."""
        files, root = self._opened
        for name in names:
            with suppress(FileNotFoundError), told(self.address):
                files.delete_file(f"{root}/{name}")
