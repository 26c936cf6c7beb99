"""An object store as a file store: S3, services with the S3 protocol, and others that pyarrow or fsspec can open.

Objects cannot be renamed, and a single upload is atomic. So the file that readers look for is uploaded after all others of a
draft. A writer that is killed before that leaves files that nobody reads. The next writer of the same folder reuses them; after
a day, a commit beside them deletes them.
"""

import os
import re
import shutil
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from assets.records.paths import is_relative_path
from pipelines.errors import StoreError
from pipelines.redaction import Redactor, secrets_of
from pipelines.resources.storage.file_store import ABANDONED_SECONDS, new_draft

CONCURRENCY = 8
CHUNK = 1 << 20
ABANDONED = timedelta(seconds=ABANDONED_SECONDS)
VARIABLE = "AMEMGYM_STORE"
ARGUMENT = "The address"  # of a release, where a command is given one
SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN")
WITH_BUCKETS = ("s3", "gcs", "abfs")
WITH_ACCOUNTS = ("abfs", "abfss")  # their addresses are abfs://CONTAINER@ACCOUNT...
FINISHED_STAYS = "finished work is kept"
CODE = re.compile(r"AWS Error ([A-Z_]+)")
DENIED_CODES = {
    "ACCESS_DENIED",
    "EXPIRED_TOKEN",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "MISSING_AUTHENTICATION_TOKEN",
    "SIGNATURE_DOES_NOT_MATCH",
    "UNRECOGNIZED_CLIENT",
}
CLIENT_ERROR = re.compile(r"AWS Error|google::cloud::Status|Azure Error|HTTP status")
DENIED = re.compile(r"HTTP status (401|403|412)")


class ObjectStore:
    """The FileStore port over the objects below `<url>/<prefix>`.

    `cache`: the folder on this machine for drafts and for copies of objects that never change; each URL has a subfolder.
    `source`: what gave the URL, as an error calls it.
    Incomplete uploads, which lack their last file, are deleted after `abandoned_after`.
    """

    def __init__(
        self, url: str, prefix: str, *, cache: Path, abandoned_after: timedelta = ABANDONED, source: str = VARIABLE
    ) -> None:
        self._url = url
        self._source = source
        self._prefix = prefix
        self._abandoned_after = abandoned_after
        # The folder's name follows from the URL: copies of two URLs are not mixed, and one object is downloaded once.
        self.cache = cache / sha256(f"{self.address}?{url.partition('?')[2]}".encode()).hexdigest()[:12]

    @property
    def address(self) -> str:
        """The store's URL without its query, which may contain secrets."""
        return f"{self._url.partition('?')[0].rstrip('/')}/{self._prefix}".rstrip("/")

    @cached_property
    def _root(self) -> tuple[fs.FileSystem, str]:
        files, root = open_file_system(self._url, source=self._source)
        return files, f"{root}/{self._prefix}".rstrip("/")

    def read(self, name: str) -> bytes:
        with self.open(name) as stream, store_errors(self.address):
            return stream.read()

    def open(self, name: str) -> pa.NativeFile:
        """Open an object for random access. Only the parts that are read are downloaded."""
        files, root = self._root
        with store_errors(self.address):
            return files.open_input_file(f"{root}/{name}")

    def write(self, name: str, content: bytes) -> None:
        files, root = self._root
        with store_errors(self.address), files.open_output_stream(f"{root}/{name}") as stream:
            stream.write(content)

    def names(self, folder: str = "") -> list[str]:
        return sorted(self._list(folder))

    def draft(self, folder: str) -> Path:
        """Return an empty folder below the cache, from which `commit` uploads."""
        return new_draft(self.cache / folder)

    def commit(self, draft: Path, name: str, *, last: str, overwrite: bool = False) -> bool:
        """Upload the draft's files and delete it. Names follow from content, so files of equal size are not sent again."""
        present = self._list(name)
        marker = f"{name}/{last}"
        if marker in present and not overwrite:
            return False
        files: dict[str, Path] = {}
        for path in draft.iterdir():
            stored = present.get(f"{name}/{path.name}")
            if path.name != last and (stored is None or stored.size != path.stat().st_size):
                files[f"{name}/{path.name}"] = path
        self.upload(files)
        self.upload({marker: draft / last})
        shutil.rmtree(draft)
        self._delete_abandoned(name.rpartition("/")[0], last=last)
        return True

    def upload(self, files: Mapping[str, Path]) -> None:
        """Copy local files to objects, several at once, in any order."""
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            list(pool.map(self._upload, files.keys(), files.values()))

    def download(self, wanted: Mapping[str, Path]) -> None:
        """Copy objects to local paths, several at once."""
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            list(pool.map(self._download, wanted.keys(), wanted.values()))

    def _upload(self, name: str, path: Path) -> None:
        files, root = self._root
        with store_errors(self.address), path.open("rb") as source, files.open_output_stream(f"{root}/{name}") as target:
            shutil.copyfileobj(source, target, CHUNK)

    def _download(self, name: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.open(name) as source, path.open("wb") as target, store_errors(self.address):
            shutil.copyfileobj(source, target, CHUNK)

    def raise_store_error(self, error: Exception) -> None:
        if CLIENT_ERROR.search(str(error)) or isinstance(error, (ConnectionError, TimeoutError)):
            raise StoreError(_sentence(self.address, str(error))) from error

    def _list(self, folder: str) -> dict[str, fs.FileInfo]:
        files, root = self._root
        with store_errors(self.address):
            selector = fs.FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True, recursive=True)
            found = files.get_file_info(selector)
        named = {info.path.removeprefix(f"{root}/"): info for info in found if info.type == fs.FileType.File}
        # Objects have names that no file has, such as a/../b: nobody here wrote those, and a copy would lie elsewhere.
        return {name: info for name, info in named.items() if is_relative_path(name)}

    def _delete_abandoned(self, folder: str, *, last: str) -> None:
        """Delete the incomplete uploads in a folder that are too old."""
        folders: dict[str, list[fs.FileInfo]] = {}
        for name, info in self._list(folder).items():
            folders.setdefault(name.rpartition("/")[0], []).append(info)
        for path, infos in folders.items():
            if path != folder and not any(info.base_name == last for info in infos) and self._is_abandoned(infos):
                self.delete(f"{path}/{info.base_name}" for info in infos)

    def _is_abandoned(self, infos: Iterable[fs.FileInfo]) -> bool:
        newest = max((info.mtime for info in infos if info.mtime is not None), default=None)
        return newest is not None and datetime.now(UTC) - newest > self._abandoned_after

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; those that are already gone are skipped."""
        files, root = self._root
        for name in names:
            with suppress(FileNotFoundError), store_errors(self.address):
                files.delete_file(f"{root}/{name}")


def open_file_system(url: str, *, source: str = VARIABLE) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URL, and the path in it. Credentials come from the environment. Raises StoreError."""
    _refuse_key(url, source=source)
    plain = url.partition("?")[0].rstrip("/")
    with store_errors(plain):
        files, root = _file_system(url, source=source)
        bucket = root.lstrip("/").partition("/")[0]
        if not bucket.strip("/"):
            raise StoreError(f"{source} names no bucket; give one as in s3://BUCKET/FOLDER.")
        exists = files.type_name not in WITH_BUCKETS or files.get_file_info(bucket).type != fs.FileType.NotFound
    if not exists:
        where = f" in {source}" if source == VARIABLE else ""
        raise StoreError(f"There is no bucket {bucket!r} at {plain}; make it, or name another{where}.")
    return files, root.rstrip("/")


def _refuse_key(url: str, *, source: str) -> None:
    """Raise StoreError if the address contains a login, even with a / in the key. The message does not repeat it."""
    scheme, _, rest = url.partition("://")
    before, at, _ = rest.rpartition("@")
    if at and (scheme.lower() not in WITH_ACCOUNTS or set(before) & set(":/?@")):
        raise StoreError(
            f"{source} must not contain a key, so no @; name the bucket only, as in s3://BUCKET/FOLDER or "
            f"abfs://CONTAINER@ACCOUNT.dfs.core.windows.net, and set the key in variables such as AWS_ACCESS_KEY_ID."
        )


def _file_system(url: str, *, source: str) -> tuple[fs.FileSystem, str]:
    try:
        return fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            words = str(error).replace(url, url.partition("?")[0])
            raise StoreError(f"{source} cannot be read as an address: {words}.") from None  # its query may be secret
    import fsspec  # for stores other than those of pyarrow  # pyright: ignore[reportMissingTypeStubs]

    try:
        files, root = fsspec.core.url_to_fs(url)  # pyright: ignore
    except (ValueError, ImportError) as error:
        raise StoreError(f"{source} is one that no installed library can open: {error}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(files)), str(root)  # pyright: ignore


@contextmanager
def store_errors(address: str) -> Generator[None, None, None]:
    """Turn the store's errors into StoreError. FileNotFoundError and errors of the local disk are raised unchanged."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileNotFoundError, StoreError)) or error.strerror is not None:
            raise
        raise StoreError(_sentence(address, str(error))) from error


def _sentence(address: str, error: str) -> str:
    found = CODE.search(error)
    code = found[1] if found else ""
    if code == "NO_SUCH_BUCKET":
        return f"There is no bucket at {address}; make it, or name another."
    if code in DENIED_CODES or DENIED.search(error):
        return (
            f"{address} does not accept the key; check the credentials in the environment (for S3: AWS_ACCESS_KEY_ID and "
            f"AWS_SECRET_ACCESS_KEY), which must allow reading, writing and listing; {FINISHED_STAYS}."
        )
    if code == "NETWORK_CONNECTION":
        return f"{address} cannot be reached; check the network and AWS_ENDPOINT_URL; {FINISHED_STAYS}."
    in_environment = [os.environ.get(name, "") for name in SECRETS]
    cleaned = Redactor(*in_environment, *secrets_of(os.environ.get(VARIABLE, ""))).clean(error)
    return f"{address} cannot be used: {cleaned.rstrip('.')}; {FINISHED_STAYS}."
