"""Memory, open files and sockets of one large run: make test-faults CELLS=large."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.engine.provenance import Provenance
from pipelines.embedded.app import create_app
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from tests.faults.runs import Row, end, row, start
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.fault_proxy import FaultProxy

USERS = 300
LARGE = {"num_users": USERS, "num_reserve": 20, "num_questions": 3, "num_periods": 1}


@dataclass(frozen=True)
class Held:
    """What a process holds: megabytes of memory, open files, and how many of these are sockets."""

    megabytes: int
    files: int
    sockets: int

    @classmethod
    def by(cls, process: int) -> "Held":
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
        (kilobytes,) = (int(one.split()[1]) for one in status if one.startswith("VmRSS"))
        files = [str(one.readlink()) for one in Path(f"/proc/{process}/fd").iterdir() if one.is_symlink()]
        return cls(kilobytes // 1024, len(files), sum(one.startswith("socket:") for one in files))


@dataclass
class Watch:
    """Looks at a process every second until it ends."""

    process: int
    seen: list[Held] = field(default_factory=list[Held])
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._over.wait(1.0):
            try:
                self.seen.append(Held.by(self.process))
            except (OSError, ValueError):  # it ends just now
                return

    def most(self, part: int, *, of: int = 4) -> Held:
        """The most of each in one part of the time."""
        seen = self.seen[len(self.seen) * part // of : len(self.seen) * (part + 1) // of]
        return Held(max(one.megabytes for one in seen), max(one.files for one in seen), max(one.sockets for one in seen))

    def stop(self) -> None:
        self._over.set()


def episodes(home: Path) -> int:
    """Users of the last episodes made."""
    value = open_asset_values(Home(home)).find("episodes", "demo")
    assert isinstance(value, Provenance)
    return sum(ref.items for ref in value.snapshots["demo"].values() if ref.stage == "episodes")


def test_a_large_run_holds_no_more_at_its_end_than_before(tmp_path: Path, note: Callable[[Row], None]) -> None:
    proxy = FaultProxy(create_app(), rate=0.0)
    with on_a_port(proxy) as url:
        process = start(
            tmp_path, url, "--quiet", *(word for name, value in LARGE.items() for word in ("--set", f"{name}={value}"))
        )
        watch = Watch(process.pid)
        threading.Thread(target=watch.run, daemon=True).start()
        ended = end(process)
        watch.stop()
    second, last = watch.most(1), watch.most(3)
    held = f"second quarter {second}, last {last}"
    made = episodes(tmp_path)
    note(replace(row(f"{USERS} users: {held}", tmp_path, proxy, ended), users=f"{made} of {USERS}"))
    assert made == USERS, ended.output  # so small a recipe need not pass the release's checks
    assert last.megabytes < 1.5 * second.megabytes
    assert last.files <= second.files + 10
    assert last.sockets <= second.sockets + 10
