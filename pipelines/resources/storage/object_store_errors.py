"""Opening an object store, and its errors in one sentence: what, where, what to do, and no secret."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import fs

from pipelines.resources.llm.redaction import Redactor
from pipelines.resources.storage.database import StoreError

VARIABLE = "AMEMGYM_STORE"
SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN")
WITH_BUCKETS = ("s3", "gcs", "abfs")
WITH_ACCOUNTS = ("abfs", "abfss")  # their addresses are abfs://CONTAINER@ACCOUNT...
KEPT = "what was finished before is kept"
CODE = re.compile(r"AWS Error ([A-Z_]+)")
REFUSED = {
    "ACCESS_DENIED",
    "EXPIRED_TOKEN",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "MISSING_AUTHENTICATION_TOKEN",
    "SIGNATURE_DOES_NOT_MATCH",
    "UNRECOGNIZED_CLIENT",
}
OF_A_STORE = re.compile(r"AWS Error|google::cloud::Status|Azure Error|HTTP status")
NO_KEY = re.compile(r"HTTP status (401|403|412)")


def opened(url: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URL, and the path in it. Credentials are the environment's. Raises StoreError."""
    _hold_no_key(url)
    plain = url.partition("?")[0].rstrip("/")
    with told(plain):
        files, root = _file_system(url)
        bucket = root.lstrip("/").partition("/")[0]
        if not bucket.strip("/"):
            raise StoreError(f"{VARIABLE} names no bucket; give one as in s3://BUCKET/FOLDER.")
        there = files.type_name not in WITH_BUCKETS or files.get_file_info(bucket).type != fs.FileType.NotFound
    if not there:
        raise StoreError(f"There is no bucket {bucket!r} at {plain}; make it, or name another in {VARIABLE}.")
    return files, root.rstrip("/")


def _hold_no_key(url: str) -> None:
    """Refuse an address with a login, wherever a / in the key may have cut it, and do not say it again."""
    scheme, _, rest = url.partition("://")
    before, at, _ = rest.rpartition("@")
    if at and (scheme.lower() not in WITH_ACCOUNTS or set(before) & set(":/?@")):
        raise StoreError(
            f"{VARIABLE} must hold no key, and so no @; name the bucket only, as in s3://BUCKET/FOLDER or "
            f"abfs://CONTAINER@ACCOUNT.dfs.core.windows.net, and give the key as AWS_ACCESS_KEY_ID and such."
        )


def _file_system(url: str) -> tuple[fs.FileSystem, str]:
    try:
        return fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            words = str(error).replace(url, url.partition("?")[0])
            raise StoreError(f"{VARIABLE} cannot be read as an address: {words}.") from None  # options may be secret
    import fsspec  # pyright: ignore[reportMissingTypeStubs]

    try:
        files, root = fsspec.core.url_to_fs(url)  # pyright: ignore
    except (ValueError, ImportError) as error:
        raise StoreError(f"{VARIABLE} is an address that nothing here can open: {error}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(files)), str(root)  # pyright: ignore


@contextmanager
def told(address: str) -> Generator[None, None, None]:
    """The store's errors as StoreError; what is not there stays FileNotFoundError, and this machine's disk tells for itself."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileNotFoundError, StoreError)) or error.strerror is not None:
            raise
        raise StoreError(_sentence(address, str(error))) from error


def pass_on(error: Exception, *, address: str) -> None:
    """Raise StoreError where a store's client said this, and not the reader of what the store had sent."""
    if OF_A_STORE.search(str(error)) or isinstance(error, (ConnectionError, TimeoutError)):
        raise StoreError(_sentence(address, str(error))) from error


def _sentence(address: str, error: str) -> str:
    found = CODE.search(error)
    code = found[1] if found else ""
    if code == "NO_SUCH_BUCKET":
        return f"There is no bucket at {address}; make it, or name another in {VARIABLE}."
    if code in REFUSED or NO_KEY.search(error):
        return (
            f"{address} does not accept the key; check the credentials in the environment (for S3: AWS_ACCESS_KEY_ID and "
            f"AWS_SECRET_ACCESS_KEY), which must allow to read, write and list there; {KEPT}."
        )
    if code == "NETWORK_CONNECTION":
        return f"{address} cannot be reached; check the network and AWS_ENDPOINT_URL; {KEPT}."
    for name in SECRETS:
        error = Redactor(os.environ.get(name, "")).clean(error)
    return f"{address} cannot be used: {error.rstrip('.')}; {KEPT}."
