"""Starts a program inside a boundary of the system, and finds out which boundary this machine can give."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from assets.isolation.limits import DEFAULT_LIMITS, ResidentLimits

Kind = Literal["bubblewrap", "namespaces", "landlock", "none"]
KINDS: dict[Kind, str] = {
    "bubblewrap": "bubblewrap, and seccomp inside it",
    "namespaces": "namespaces of their own, and seccomp inside them",
    "landlock": "Landlock and seccomp; there are no namespaces here, so that it could learn names and sizes of files outside",
}
TRUST = "AMEMGYM_TRUST_PACKAGES"
NO_BOUNDARY = (
    "Nothing on this machine would keep the code of packages from your files and the network: that takes Linux with "
    "bubblewrap, user namespaces, or Landlock and seccomp. Install bubblewrap or use another machine; if you would install "
    f"these packages anyway, say --trust-packages or set {TRUST}=1."
)
NOTHING = f"Code of packages runs with all your rights: nothing on this machine confines it, and {TRUST} allows that."
CONFINE = Path(__file__).with_name("confine.py")
PROJECT = CONFINE.parents[2]
# Of the project, what closes the boundary.
OWN_FILES = (str(CONFINE.parents[1] / "__init__.py"), str(CONFINE.parent))
PROBE = Path(__file__).with_name("probe.py")
PACKAGES = ("site-packages", "dist-packages")
# Where shared libraries of the interpreter may be, besides its own folders.
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store")
INSIDE_ID = "1000"
# The path is forgotten as soon as the boundary's own modules are found.
ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(PROJECT)}
# Of a program that stays: the system's programs, what its libraries look for, and what it takes to find and trust a host.
SYSTEM_FILES = ("/bin", "/usr/bin", "/etc/ld.so.cache", "/usr/share/zoneinfo")
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/usr/share/ca-certificates")
SCRATCH = "/tmp"  # noqa: S108 - of the program's own root
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
PROBE_SECONDS = 30  # an interpreter starts in a tenth of one, on a machine that has nothing else to do
ENDING_SECONDS = 10  # that a keeper has to end all that a program has started
CHUNK = 65_536
MOST_ANSWERED = 64_000_000  # bytes of a program that runs to its end
MB = 1024 * 1024


class NoBoundary(OSError):
    """Code of others cannot be kept from this machine, and nobody said that it is trusted. One sentence says what to do."""


def is_trusted() -> bool:
    """Return True where this installation runs code of others even where no boundary can be had."""
    return os.environ.get(TRUST, "").strip() not in ("", "0")


def required_kind() -> Kind:
    """Return the boundary that code of others is run in; "none" only where it is trusted. Raises NoBoundary."""
    kind = available_kind()
    if kind == "none" and not is_trusted():
        raise NoBoundary(NO_BOUNDARY)
    return kind


def boundary_sentence() -> str:
    """Return one sentence on what keeps code of packages in on this machine."""
    kind = available_kind()
    if kind == "none":
        return NOTHING if is_trusted() else f"Code of packages is not run here. {NO_BOUNDARY}"
    return f"Code of packages runs inside a boundary of the system: {KINDS[kind]}."


@cache
def available_kind() -> Kind:
    """Return the first kind of boundary that holds on this machine when it is tried; "none" where none does."""
    if sys.platform == "linux":
        for kind in KINDS:
            if holds(kind):
                return kind
    return "none"


def holds(kind: Kind) -> bool:
    """Try the boundary, and return True where a program starts in it and can do nothing outside."""
    if kind == "bubblewrap" and shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        job = {"hidden": __file__, "shown": folder}
        return run_isolated(PROBE, job=job, folder=Path(folder), seconds=PROBE_SECONDS, kind=kind) == b"done\n"


def run_isolated(
    program: Path,
    *,
    job: Mapping[str, object],
    folder: Path,
    seconds: float,
    kind: Kind | None = None,
    hash_seed: int = 0,
) -> bytes:
    """Run a program of ours on a job, inside the boundary, and return what it answered until it ended.

    The program defines `main(boundary)`; see `confine.py`. Of the machine it sees the interpreter and `folder`, read-only.
    It is ended, with everything that it has started, after so many seconds or `MOST_ANSWERED` bytes. Raises NoBoundary.
    """
    kind = kind or required_kind()
    folder = Path(os.path.realpath(folder))
    with tempfile.TemporaryDirectory(prefix="root-") as root, tempfile.TemporaryFile() as given:
        given.write(json.dumps(job).encode() + b"\n")
        given.seek(0)
        shown = [*_interpreter_folders(), str(folder)]
        hidden = package_folders()
        options = {"kind": kind, "program": str(program), "shown": shown, "hidden": hidden, "root": root}
        command = _interpreter_command(options)
        if kind == "bubblewrap":
            command = [*_bubblewrap(shown, hidden=hidden, own=[*OWN_FILES, str(program)]), *command]
        environment = {**ENVIRONMENT, "PYTHONHASHSEED": str(hash_seed)}
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
        )
        try:
            return _read(process, seconds=seconds)
        finally:
            end_process(process)


@dataclass(frozen=True)
class Residence:
    """What a program that stays is given of this machine: files and folders to read, folders to list, and whether the network.

    `scratch`: an empty folder, which is its own where it has no root of its own. Its end is told by `describe_end`.
    """

    kind: Kind
    shown: tuple[str, ...]
    listed: tuple[str, ...]
    scratch: str
    network: bool = False
    limits: ResidentLimits = DEFAULT_LIMITS


def start_resident(program: Path, *, job: Mapping[str, object], residence: Residence) -> "subprocess.Popen[bytes]":
    """Start a program of ours that runs foreign code, and return its process, which is asked and answers by lines.

    Whoever starts it reads its standard error too, so that it is never held up by what it prints.

    The program defines `main(boundary)`; see `confine.py`. With the kind "none" it is a process of its own, and nothing more.
    """
    kind = residence.kind
    # Of the interpreter's folders only packages are its own, where no environment lies over them.
    own = [
        path
        for path in sorted(set(residence.shown))
        if not _is_below(path, _interpreter_folders()) or _is_below(path, package_folders())
    ]
    system = [*SYSTEM_FILES, *(NETWORK_FILES if residence.network else ())]
    shown = [*_interpreter_folders(), *(path for path in system if os.path.exists(path))]  # noqa: PTH110
    hidden = [path for path in package_folders() if not _is_below(path, own)]
    own_root = kind in ("bubblewrap", "namespaces")
    settled = {"scratch": residence.scratch, "own": own, "listed": residence.listed}
    settled |= {"network": residence.network, "limits": residence.limits}
    options = {"kind": kind, "program": str(program), "shown": shown, "hidden": hidden}
    command = _interpreter_command({**options, "root": residence.scratch, "resident": settled})
    if kind == "bubblewrap":
        files = [*own, *OWN_FILES, str(program)]
        command = [*_bubblewrap(shown, hidden=hidden, own=files, resident=residence), *command]
    home = SCRATCH if own_root else residence.scratch
    environment = {
        **ENVIRONMENT,
        "PYTHONHASHSEED": "0",
        "HOME": home,
        "TMPDIR": home,
        "PATH": "/usr/bin:/bin",
        "PYTHONUNBUFFERED": "1",
    }
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,  # so that foreign code never holds the terminal
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(job).encode() + b"\n")
    return process


def _interpreter_command(options: Mapping[str, object]) -> list[str]:
    # -I would ignore the seed of hashes as well; the environment has nothing else in it.
    return [os.path.realpath(sys.executable), "-s", "-S", "-P", "-B", "-X", "utf8", str(CONFINE), json.dumps(options)]


def _bubblewrap(
    shown: Sequence[str], *, hidden: Sequence[str], own: Sequence[str], resident: Residence | None = None
) -> list[str]:
    """Return the command before the command: the same view that `namespaces.py` makes for itself where it has to."""
    bwrap = shutil.which("bwrap") or "bwrap"
    options = ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1"]
    options += ["--cap-drop", "ALL", "--hostname", "inside"]
    options += ["--uid", INSIDE_ID, "--gid", INSIDE_ID]
    read_only = ["/"]
    if resident is None:
        options += ["--dev-bind", os.devnull, os.devnull]
    else:
        size = ["--size", str(resident.limits.disk_mb * MB)]
        # Before what is shown, which may lie below it.
        options += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", SCRATCH, *size, "--tmpfs", SHARED_MEMORY]
        read_only += ["/proc", "/dev"]
        if resident.network:
            options.append("--share-net")
    for path in shown:
        options += ["--ro-bind", path, path]
    for path in hidden:
        options += ["--tmpfs", path]
    for path in own:
        options += ["--ro-bind", path, path]
    for path in [*hidden, *read_only]:
        options += ["--remount-ro", path]
    return [bwrap, *options, "--chdir", "/", "--"]


@cache
def package_folders() -> tuple[str, ...]:
    """Return the folders of packages that lie within those of interpreters: installed by others, and none of foreign code's."""
    within = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib", vars={"platbase": sys.base_exec_prefix})]
    found = {Path(os.path.realpath(folder)) / name for folder in within for name in PACKAGES}
    for folder in map(Path, _interpreter_folders()):
        found.update(path for name in PACKAGES for path in (*folder.glob(name), *folder.glob(f"py*/{name}")))
    return tuple(sorted(str(path) for path in found if path.is_dir() and _is_below(str(path), _interpreter_folders())))


def _is_below(path: str, folders: Sequence[str]) -> bool:
    """Return True for one of the folders, and for what is in one."""
    return any(Path(path).is_relative_to(folder) for folder in folders)


@cache
def _interpreter_folders() -> tuple[str, ...]:
    """Return the folders that the interpreter and its libraries are in, none of them inside another one."""
    # Of the interpreter itself: a virtual environment has packages beside it, this project among them.
    base = {"platbase": sys.base_exec_prefix}
    named = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib", vars=base), sysconfig.get_config_var("LIBDIR")]
    folders = [*LIBRARIES, os.path.dirname(os.path.realpath(sys.executable))]  # noqa: PTH120
    folders += map(os.path.realpath, filter(None, named))
    outermost: list[str] = []
    # In alphabetic order a folder comes after those around it.
    for path in sorted(set(folders)):
        if os.path.isdir(path) and not _is_below(path, outermost):  # noqa: PTH112
            outermost.append(path)
    return tuple(outermost)


def _read(process: "subprocess.Popen[bytes]", *, seconds: float) -> bytes:
    assert process.stdout is not None
    end = time.monotonic() + seconds
    told: list[bytes] = []
    size = 0
    while size < MOST_ANSWERED:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        more = os.read(process.stdout.fileno(), CHUNK) if ready else b""
        if not more:
            break
        told.append(more)
        size += len(more)
    return b"".join(told)


def end_resident(process: "subprocess.Popen[bytes]", *, kind: Kind, by_itself: bool) -> int:
    """End the process with everything that it has started, and return its exit code.

    `by_itself`: its answers have come to an end, so that it is about to end and to tell how.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(timeout=1 if by_itself else 0)
    if kind in ("namespaces", "landlock"):
        # Its keeper ends the others first. Bubblewrap takes all with it, and would pass over SIGTERM where we do.
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=ENDING_SECONDS)
    _signal_group(process, signal.SIGKILL)
    return process.wait()


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process with its group; process 1 inside is one of them, and takes all others with it."""
    _signal_group(process, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _signal_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
