"""The folder of an installation: its files, and Dagster's own storage in it."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import StoreError

# In bytes. Six small users take 12 MB with caches, pages and release.
LEAST_FREE = 200_000_000
# Whatever makes something there would find it out when all else is paid for.
FOLDERS = ("releases", "reports", "runs", "boards", "fresh", "snapshots", "values", "finished", "dagster", "crashes")
# Set by `amemgym ui` for the processes that it starts: beside Dagster there are our pages.
SERVES_PAGES = "AMEMGYM_SERVES_PAGES"
# The path in the address of a database ends at the first, and the second begins the code of a character.
MEAN_MORE_IN_ADDRESSES = frozenset("?%")
DAGSTER_SETTINGS = Path(__file__).parent / "deploy" / "dagster.sqlite.yaml"


@dataclass(frozen=True)
class Home:
    """The folder of one installation's data; everything below can be moved or backed up as a whole.

    `store`: the URL of an object store, or a shared folder, for snapshots, values and releases instead
    (pipelines/resources/storage/open_stores.py opens them).
    """

    root: Path
    store: str = ""

    @property
    def calls(self) -> Path:
        """The reply cache: every reply ever paid for."""
        return self.root / "calls.sqlite"

    @property
    def work(self) -> Path:
        """The record cache: finished users of stages under way."""
        return self.root / "work.sqlite"

    @property
    def releases(self) -> Path:
        """The folder of this machine for releases, `<variant>/<version>`, and for what is known beside them."""
        return self.root / "releases"

    @property
    def reports(self) -> Path:
        """Pages of the latest quality reports, `<variant>.html`, and what Great Expectations found, `<variant>/gx`."""
        return self.root / "reports"

    @property
    def dagster(self) -> Path:
        """Dagster's own storage, unless DAGSTER_HOME says otherwise."""
        return Path(os.environ.get("DAGSTER_HOME") or self.root / "dagster")


def home() -> Home:
    """The folder named by AMEMGYM_HOME, else `data` beside a checkout's code, or `amemgym-data` where an installation is used.

    AMEMGYM_STORE names its store, if any.

    Raises StoreError where the name is that of a file, or of something below one.
    """
    checkout = Path(__file__).parent.parent
    default = checkout / "data" if (checkout / "pyproject.toml").exists() else Path("amemgym-data")
    root = Path(os.environ.get("AMEMGYM_HOME") or default).expanduser().absolute()
    file = next((place for place in (root, *root.parents) if place.exists() and not place.is_dir()), None)
    if file is not None:
        words = "is" if file == root else f"lies in {file}, which is"
        raise StoreError(f"The data folder {root} {words} a file; name a folder in AMEMGYM_HOME.")
    return Home(root, os.environ.get("AMEMGYM_STORE", "").strip())


def prepare_dagster_home(home: Home) -> Path:
    """Make the folder of Dagster's storage with a dagster.yaml that sends nothing anywhere; an existing one stays.

    Return the path for DAGSTER_HOME, which is a link for this process where Dagster could not read the folder's own.
    """
    folder = home.dagster
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        shutil.copyfile(DAGSTER_SETTINGS, settings)
    return _link_to(folder) if set(str(folder)) & MEAN_MORE_IN_ADDRESSES else folder


def _link_to(folder: Path) -> Path:
    # Dagster writes the path into the address of a database as it is; its files would lie elsewhere.
    place = Path(tempfile.mkdtemp(prefix="amemgym-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    link = place / "dagster"
    link.symlink_to(folder)
    return link


def begin_home(home: Home) -> None:
    """Make the folder. Raises StoreError where that cannot be."""
    try:
        home.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The data folder {home.root} cannot be made ({error.strerror}); choose another in AMEMGYM_HOME."
        ) from error


def obstacles(home: Home) -> Iterator[str]:
    """Yield a sentence for each thing that would stop a run: what cannot be written, a disk that is nearly full."""
    yield from find_unwritable(home)
    free = shutil.disk_usage(_nearest_folder(home)).free
    if free < LEAST_FREE:
        yield (
            f"The disk of {home.root} has {free / 1e6:.0f} MB left, and a run needs {LEAST_FREE / 1e6:.0f}; free some space, "
            "or choose another folder in AMEMGYM_HOME."
        )


def find_unwritable(home: Home) -> Iterator[str]:
    """Yield a sentence for each path that cannot be written, also for a file in a folder's place.

    Of a folder that is not made yet, it is of the nearest one above.
    """
    root = _nearest_folder(home)
    # Of a folder above nothing is ours but the right to make a folder in it.
    below: list[Path] = []
    if root == home.root:
        below = [path for path in sorted(root.iterdir()) if not path.is_symlink()]
    for name in FOLDERS:
        if (home.root / name).is_file():
            yield f"{home.root / name} is a file, and a folder has to be there; move it away, and run the command again."
    for path in dict.fromkeys((root, home.dagster, *below)):
        reason = _not_writable(path)
        if reason:
            yield f"{path} cannot be written ({reason}); make it writable, or choose another folder in AMEMGYM_HOME."


def _nearest_folder(home: Home) -> Path:
    return next(folder for folder in (home.root, *home.root.parents) if folder.is_dir())


def _not_writable(path: Path) -> str:
    """Return the reason why a path cannot be written, or "". Permissions alone do not tell it of every file system."""
    try:
        if path.is_dir():
            tempfile.TemporaryFile(dir=path).close()
        elif path.is_file() and path.suffix in (".sqlite", ".duckdb", ".json"):
            path.open("ab").close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
