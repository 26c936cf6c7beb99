"""Repositories of SWE-bench's form as a world: a shell of the package `mini-swe-agent`, and the rows' own tests as the grade.

A row runs in its image by Docker, or in a copy of a repository that lies beside the rows. The package is an extra; its model
side is never imported.
"""

import base64
import importlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assets.isolation.boundary import available_kind, is_trusted, package_folders
from assets.records.base import ItemFailed
from assets.worlds.tools import REFUSED

PACKAGE = "mini-swe-agent"
READ_VERSION = "2.4.6"
INSTALL = f"pip install -e '.[swe]' && pip install --no-deps {PACKAGE}=={READ_VERSION}"
SHELL = "bash"
FOLDER = "/testbed"  # where images have the repository, and the name under which an agent knows a copy of one
PATCH_FILE = ".git/amemgym.patch"
BUILDING = ".git/building"  # of a copy: what its repository is built from
COMMAND_SECONDS = 60
TEST_SECONDS = 1_800
PULL_SECONDS = 3_600
MOST_OUTPUT = 2_000_000  # bytes that one command may print
MOST_SHOWN = 10_000  # characters of what it printed that the agent sees
MOST_PATCH = 500_000  # characters
PIECE = 90_000  # characters of a command: Linux takes no longer argument than 131,072 bytes
DOCKER = {"PAGER": "cat", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1", "BASH_ENV": "/root/.bashrc"}
LOGGER = logging.getLogger(__name__)  # the package's own prints each container on the terminal
RULES = (
    f"You repair the repository in {FOLDER}, which is the current folder. Every command runs in a new shell there.",
    "Change the code, not its tests, and commit nothing. Tests that you do not see will be run on what you changed.",
    "Nobody answers in words. Finish when it is repaired.",
)
NO_DOCKER = (
    "a running Docker is needed for the images of these rows, and there is none here; start it, or give the repositories: "
    "git repositories as {folder}/OWNER/NAME."
)
NO_SANDBOX = (
    "the commands of an agent would run on this machine with all that you may do; install bubblewrap (on Debian: "
    "apt-get install bubblewrap), or say AMEMGYM_TRUST_PACKAGES=1 if that is what you want."
)

LEFT = "Changes:\n"  # how the end of an episode tells them


class SweUnusable(Exception):
    """The package is missing, or nothing here can run a row; the message is one sentence."""


def swe_module(name: str) -> Any:
    """Return a module of the package. Raises SweUnusable."""
    # As it is imported, the package greets, makes a folder of settings and loads the keys in it; none of that is wanted.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": folder}
        before = {key: os.environ.get(key) for key in settings}
        os.environ.update(settings)
        try:
            return importlib.import_module(f"minisweagent.{name}")
        except ModuleNotFoundError as error:
            raise SweUnusable(f"{PACKAGE} is not installed ({error.name} is missing); install it with: {INSTALL}") from error
        finally:
            for key, value in before.items():
                os.environ.pop(key, None)
                if value is not None:
                    os.environ[key] = value


@dataclass(frozen=True)
class Build:
    """How a copy becomes the repository of a row: by a command that finds these files in `BUILDING`, by name."""

    files: Mapping[str, Path]
    command: str


@dataclass(frozen=True)
class SweRow:
    """A row of SWE-bench or SWE-Gym. `image`: of Docker; `repository`: one of git to copy in its place, and to `build` on.

    A test is named as pytest names it, or is a whole file. `wrong_patches`: with these, tests have to fail.
    """

    instance_id: str
    repo: str
    base_commit: str
    problem: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    image: str
    repository: Path | None = None
    build: Build | None = None
    wrong_patches: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that have to pass."""
        return (*self.fail_to_pass, *self.pass_to_pass)


def refuse_where_nothing_runs(rows: Sequence[SweRow], *, folder: Path) -> None:
    """Raise SweUnusable where the package or what the rows run in is missing. `folder`: where repositories may lie."""
    swe_module("environments")
    if any(row.repository is None for row in rows) and not _docker_runs():
        raise SweUnusable(NO_DOCKER.format(folder=folder))
    if any(row.repository is not None for row in rows) and not _has_bubblewrap() and not is_trusted():
        raise SweUnusable(NO_SANDBOX)


def _docker_runs() -> bool:
    executable = os.environ.get("MSWEA_DOCKER_EXECUTABLE", "docker")
    if shutil.which(executable) is None:
        return False
    # Podman has no server whose version could be asked for.
    try:
        return subprocess.run([executable, "ps", "-q"], capture_output=True, timeout=30, check=False).returncode == 0  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False


def _has_bubblewrap() -> bool:
    return available_kind() == "bubblewrap"


@dataclass
class Workspace:
    """A place of its own for one row: a container, or a copy of a repository. Close it."""

    row: SweRow
    environment: Any = field(init=False, repr=False)
    start: str = field(init=False)  # the commit that changes are counted from
    copy: "tempfile.TemporaryDirectory[str] | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Open it. Raises ItemFailed."""
        try:
            self.environment = self._container() if self.row.repository is None else self._on_this_machine(self.row.repository)
            if self.row.build is not None:
                self._build(self.row.build)
            code, said = self.run("git rev-parse HEAD")
            if code:
                raise self._item_failed(f"has no git repository in {FOLDER}: {_last_line(said)}")
        except BaseException:
            self.close()
            raise
        self.start = said.strip()

    def run(self, command: str, *, seconds: int = COMMAND_SECONDS) -> tuple[int, str]:
        """Return the exit code of a command and what it printed; -1 for one that took too long or could not be run."""
        local = self.copy.name if self.copy is not None else ""
        own = command.replace(FOLDER, local) if local else command
        bounded = f"{shlex.join(['bash', '-c', own])} 2>&1 < /dev/null | head -c {MOST_OUTPUT}; exit ${{PIPESTATUS[0]}}"
        if local and not _has_bubblewrap():
            # Its environment would hold the keys of this process.
            bounded = shlex.join(
                ["env", "-i", *(f"{key}={value}" for key, value in _plain(local).items()), "bash", "-c", bounded]
            )
        result = self.environment.execute({"command": bounded}, timeout=seconds)
        said = str(result["output"])
        if result["returncode"] == -1:
            said += f"\n(It took longer than {seconds} seconds, or could not be run.)"
        return int(result["returncode"]), said.replace(local, FOLDER) if local else said

    def apply(self, patch: str) -> bool:
        """Apply a patch. Return False where it does not apply."""
        encoded = base64.b64encode(patch.encode()).decode()
        self.run(f"rm -f {PATCH_FILE}.b64")
        for place in range(0, len(encoded), PIECE):
            self.run(f"printf %s {encoded[place : place + PIECE]} >> {PATCH_FILE}.b64")
        code, _ = self.run(f"base64 -d {PATCH_FILE}.b64 > {PATCH_FILE} && git apply {PATCH_FILE}")
        return code == 0

    @property
    def changes(self) -> str:
        """All that differs from the start, as a patch."""
        return self.run(f"git add -A && git diff --cached --binary {self.start}")[1]

    def copy_in(self, files: Mapping[str, Path]) -> None:
        """Copy files into `BUILDING` of the copy, by name."""
        assert self.copy is not None
        for name, source in files.items():
            place = Path(self.copy.name, BUILDING, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)

    def _build(self, build: Build) -> None:
        self.copy_in(build.files)
        code, said = self.run(build.command, seconds=TEST_SECONDS)
        if code:
            raise self._item_failed(f"cannot be built: {_last_line(said)}")

    def close(self) -> None:
        """Give up the container, or the copy."""
        environment: Any = getattr(self, "environment", None)
        if hasattr(environment, "cleanup"):  # LocalEnvironment has none
            environment.cleanup()
        if self.copy is not None:
            self.copy.cleanup()

    def _container(self) -> Any:
        try:
            return swe_module("environments.docker").DockerEnvironment(
                image=self.row.image,
                cwd=FOLDER,
                env=DOCKER,
                run_args=["--rm", "--network", "none"],
                pull_timeout=PULL_SECONDS,
                interpreter=["bash", "-c"],
                logger=LOGGER,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            raise self._item_failed(f"has no container of {self.row.image}: {_last_line(str(said))}") from error

    def _on_this_machine(self, repository: Path) -> Any:
        self.copy = tempfile.TemporaryDirectory(prefix="repository-")
        folder = self.copy.name
        for command in (["clone", "-q", "--no-hardlinks", str(repository), folder], ["checkout", "-q", self.row.base_commit]):
            git = ["git", *([] if command[0] == "clone" else ["-C", folder]), *command]
            done = subprocess.run(git, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise self._item_failed(f"cannot be copied at {self.row.base_commit}: {_last_line(done.stderr)}")
        if not _has_bubblewrap():
            return swe_module("environments.local").LocalEnvironment(cwd=folder)
        bubblewrap = swe_module("environments.extra.bubblewrap")
        wrapper = ["--unshare-all", "--die-with-parent", "--clearenv", *bubblewrap.BubblewrapEnvironmentConfig().wrapper_args]
        packages = [path for path in sys.path if path.endswith("-packages")]  # an environment may lie over another one
        for path in sorted({sys.prefix, sys.base_prefix, *packages}):
            wrapper += ["--ro-bind", path, path]
        for path in package_folders():
            # An agent might find there what it is to repair.
            if path not in packages and path.startswith((f"{sys.base_prefix}/", "/usr/")):
                wrapper += ["--tmpfs", path]
        return bubblewrap.BubblewrapEnvironment(cwd=folder, env=_plain(folder), wrapper_args=wrapper, logger=LOGGER)

    def _item_failed(self, why: str) -> ItemFailed:
        return ItemFailed("call_failed", f"{self.row.instance_id} {why}")


def _plain(folder: str) -> dict[str, str]:
    """Return the environment of commands on this machine: this interpreter's programs first, and nothing of the user's."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    # What programs write into their user's home is no change to the repository.
    return {"PATH": path, "HOME": f"{folder}/.git", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PAGER": "cat"}


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1][:300]


@dataclass
class SweWorld:
    """One row that is acted in, by commands of a shell."""

    workspace: Workspace
    ended: bool = False

    @property
    def final_state(self) -> str:
        """Return the changes that the agent leaves, as a patch."""
        return f"{LEFT}{self.workspace.changes}"

    def close(self) -> None:
        self.workspace.close()

    @property
    def opening(self) -> str:
        return self.workspace.row.problem

    @property
    def rules(self) -> str:
        listed = "\n".join(f"- {line}" for line in RULES)
        return f"{listed}\nRepository: {self.workspace.row.repo}"

    @property
    def tools(self) -> list[dict[str, Any]]:
        command = {"type": "string", "description": "a command of bash, which asks for no input"}
        arguments = {"type": "object", "properties": {"command": command}, "required": ["command"]}
        return [{"name": SHELL, "does": "Runs a command in the repository.", "arguments": arguments}]

    def writes(self, tool: str) -> bool:
        """Return True for the shell: nobody can say of a command that it changes nothing."""
        return tool == SHELL

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Run a command, and return its exit code and what it printed; of much the beginning and the end."""
        if tool != SHELL:
            return f"{REFUSED}there is no tool {tool!r}; there is {SHELL}."
        command = arguments.get("command", "")
        if not command.strip() or len(command) > PIECE:
            return f"{REFUSED}give a command of 1 to {PIECE:,} characters."
        try:
            code, said = self.workspace.run(command)
        except swe_module("exceptions").Submitted:  # how this package's own agents end
            self.ended = True
            return ""
        if len(said) > MOST_SHOWN:
            left_out = len(said) - MOST_SHOWN
            said = f"{said[: MOST_SHOWN // 2]}\n... ({left_out:,} characters left out)\n{said[-MOST_SHOWN // 2 :]}"
        return f"exit code {code}\n{said}"

    def say(self, text: str) -> str:
        """Return that nobody answers in words."""
        return "Nobody is there to answer; go on with the tool, or finish."


def failed_tests(row: SweRow, patch: str) -> str:
    """Apply a patch to the row's repository as it was, and return why its tests do not pass; "" where they do. Blocks.

    Raises ItemFailed where that cannot be said.
    """
    if len(patch) > MOST_PATCH:
        return f"its patch has more than {MOST_PATCH:,} characters"
    workspace = Workspace(row)
    try:
        if patch.strip() and not workspace.apply(patch):
            return "its patch does not apply"
        whole_files = [test for test in row.tests if "::" not in test]
        for path in dict.fromkeys([*changed_paths(row.test_patch), *whole_files]):
            quoted = shlex.quote(path)
            # Unlike rm, git removes nothing behind a link that leads out of the repository.
            workspace.run(f"git checkout -q {workspace.start} -- {quoted} || git clean -qffdx -- {quoted}")
        if not workspace.apply(row.test_patch):
            raise ItemFailed("call_failed", f"{row.instance_id} has a test_patch that does not apply to its repository.")
        files = dict.fromkeys(test.partition("::")[0] for test in row.tests)
        command = ["python", "-m", "pytest", "-rA", "-q", "--tb=no", "-p", "no:cacheprovider", *files]
        code, said = workspace.run(shlex.join(command), seconds=TEST_SECONDS)
    finally:
        workspace.close()
    if code == -1:
        return f"its tests take longer than {TEST_SECONDS} seconds"
    passed = set(re.findall(r"^(?:PASSED|XFAIL) (\S+::.+?)(?: - .*)?$", said, re.MULTILINE))
    # A whole file passes where one of its tests does, and none of them fails.
    passed |= {name.partition("::")[0] for name in passed}
    passed -= set(re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)", said, re.MULTILINE))
    failed = [test for test in row.tests if test not in passed]
    return f"{len(failed)} of {len(row.tests)} tests, among them {failed[0]}," if failed else ""


def changed_paths(patch: str) -> list[str]:
    """Return the files that a patch changes or makes, each once."""
    return list(dict.fromkeys(re.findall(r"^\+\+\+ b/(.+?)\t?$", patch, re.MULTILINE)))
