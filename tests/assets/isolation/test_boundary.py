"""Which boundary a machine has, and what is said where it has none."""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from assets.isolation.boundary import KINDS, NO_BOUNDARY, TRUST, available_kind, holds
from tests.assets.isolation.attacks import NUMBERS

ROOT = Path(__file__).parents[3]
# A process that the kernel gives no new namespaces and no Landlock, as in many containers, and that finds no bubblewrap.
REFUSING = f"""
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = [(0x20, 0, 0, 0)]
for number in ({NUMBERS.get(platform.machine(), {}).get("unshare", 0)}, 444):
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
steps += [(0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
described = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(program)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, described, 0, 0) == 0
os.environ["PATH"] = "/nowhere"
"""
WITHOUT_BOUNDARY = REFUSING if sys.platform == "linux" and platform.machine() in NUMBERS else "import sys\n"


def python(program: str, **environment: str) -> str:
    """What a program prints in a process without a boundary."""
    variables = {name: value for name, value in os.environ.items() if name != TRUST} | environment
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_BOUNDARY + program],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.returncode}\n{done.stdout}{done.stderr}"


# One process for several commands, as each needs seconds to start.
COMMANDS = """
import os
from assets.isolation.boundary import TRUST
from pipelines.cli.main import run_command
for trust, words in {commands!r}:
    os.environ[TRUST] = trust
    print("status", run_command(words))
"""


def test_the_boundary_that_is_used_is_the_first_that_holds() -> None:
    held = [kind for kind in KINDS if holds(kind)]
    assert available_kind() == (held[0] if held else "none")


def test_namespaces_hold_where_users_may_have_them() -> None:
    asked = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "true"]
    may = shutil.which("unshare") is not None and subprocess.run(asked, check=False, stderr=subprocess.DEVNULL).returncode == 0
    assert holds("namespaces") or not may
    assert holds("bubblewrap") or not may or shutil.which("bwrap") is None


def test_landlock_holds_where_the_kernel_has_it() -> None:
    version = ctypes.CDLL(None).syscall(444, None, 0, 1) if sys.platform == "linux" else 0
    assert holds("landlock") == (version >= 1)


def test_code_questions_are_refused_before_the_first_call_where_there_is_no_boundary(tmp_path: Path) -> None:
    commands = [("0", ["generate", "code-demo", "--quiet"]), ("0", ["cache", "info"])]
    told = python(COMMANDS.format(commands=commands), AMEMGYM_HOME=str(tmp_path))
    *_, refusal, info = told.splitlines()
    assert told.startswith("0\nstatus 1\n")
    assert refusal == f"amemgym: {NO_BOUNDARY}"
    assert "There is no reply cache" in info
    assert "Traceback" not in told
    assert not list(tmp_path.rglob("*.parquet"))


RUN = """
from assets.isolation.boundary import NoBoundary, available_kind
from tests.assets.isolation.attacks import run
try:
    print(available_kind(), [report.text for report in run("def bad(x):\\n    return x + 1")])
except NoBoundary as error:
    print(error)
"""


def test_no_code_of_a_package_runs_without_a_boundary_unless_it_is_trusted() -> None:
    assert python(RUN) == f"0\n{NO_BOUNDARY}\n"
    assert python(RUN, **{TRUST: "0"}) == f"0\n{NO_BOUNDARY}\n"
    assert python(RUN, **{TRUST: "1"}) == "0\nnone ['2', \"[1, 'y']\"]\n"


def test_the_doctor_says_what_keeps_code_of_packages_in(tmp_path: Path) -> None:
    told = python(COMMANDS.format(commands=[("0", ["doctor"]), ("1", ["doctor"])]), AMEMGYM_HOME=str(tmp_path))
    untrusted, trusted, _ = told.split("nothing is damaged")
    assert "is not run here" in untrusted
    assert "with all your rights" in trusted


def test_a_boundary_that_lets_something_through_does_not_hold() -> None:
    assert not holds("none")
