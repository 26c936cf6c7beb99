"""What each boundary is said to keep from a memory of others, and from a package's code, and attempts to do it all the same.

A promise holds where none of its attempts was possible, by what the memory says and by what is seen from outside.
"""

import ast
import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from assets.isolation.boundary import Kind, package_folders
from pipelines.memories.failures import MemoryFailed
from tests.assets.isolation.attacks import FILES, PROCESSES, SOCKETS, possible
from tests.assets.isolation.attacks import NUMBERS as PACKAGE_NUMBERS
from tests.assets.isolation.memories import Item
from tests.support.processes import children
from tests.support.waiting import LONG

NUMBERS = {"x86_64": 0, "aarch64": 1}
CALLS = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "ptrace": (101, 117),
    "vm_readv": (310, 270),
    "vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "ioprio_set": (251, 30),
    "mount": (165, 40),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring": (425, 425),
    "syslog": (103, 116),
    "inotify": (294, 26),
    "fanotify": (300, 262),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    "handle": (303, 264),
    "fsopen": (430, 430),
    "memfd": (319, 279),
}
READ = {
    "a file of the user's": "open({victim!r}).read()",
    "the home": "assert {in_home!r} and set(os.listdir({home!r})) >= set({in_home!r})",
    "accounts": "open('/etc/passwd').read()",
    "the runner's variables": "open('/proc/{runner}/environ').read()",
    "packages of the base interpreter": "open({package!r}).read()",
    "a file by a link in its scratch": "path = tempfile.mkdtemp() + '/a'\nos.symlink({victim!r}, path)\nopen(path).read()",
    "a file by its handle": "call({handle}, -100, {victim!r}.encode(), ctypes.create_string_buffer(struct.pack('Ii', 128, 0), "
    "200), ctypes.byref(ctypes.c_int()), 0)",
    "messages of the kernel": "call({syslog}, 3, ctypes.create_string_buffer(4096), 4096)",
}
LOOK = {
    "its size": "os.stat({victim!r})",
    "whether it is there": "os.access({victim!r}, os.F_OK) or open({victim!r} + '.none') and None or [][0]",
    "its attributes": "os.listxattr({victim!r})",
}
LOOK_IN_CALL = {"its size": "os.stat({victim!r})"}
WRITE = {
    "append": "open({victim!r}, 'a')",
    "delete": "os.remove({victim!r})",
    "truncate": "os.truncate({victim!r}, 0)",
    "truncate while reading": "os.open({victim!r}, os.O_RDONLY | os.O_TRUNC)",
    "rename": "os.rename({victim!r}, {victim!r} + '.left')",
    "move into scratch": "os.rename({victim!r}, tempfile.mkdtemp() + '/a')",
    "link": "os.link({victim!r}, {victim!r} + '.left')",
    "link into scratch": "os.link({victim!r}, tempfile.mkdtemp() + '/a')",
    "link by name": "os.symlink('x', {victim!r} + '.left')",
    "make a folder": "os.mkdir({victim!r} + '.left')",
    "make a pipe": "os.mkfifo({victim!r} + '.left')",
    "write its own code": "open(__file__, 'a')",
    "write an interpreter's file": "open(os.__file__, 'a')",
    "an option of the kernel": "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "a command to the kernel": "os.open('/proc/sysrq-trigger', os.O_WRONLY)",
    "by a program": "assert subprocess.run(['/bin/sh', '-c', 'echo x > {victim}'], stderr=subprocess.DEVNULL).returncode == 0",
    "by a ring of calls": "call({io_uring}, 1, ctypes.create_string_buffer(120))",
}
# Each is made on a file of the user's, of the memory's own folder, of the interpreter and of a device.
CHANGE = """
import errno, shutil
for path in {paths!r}:
    for attempt in (
        lambda: os.chmod(path, 0o640), lambda: os.chown(path, 1, 1), lambda: os.lchown(path, 1, 1),
        lambda: os.utime(path, (1, 1)), lambda: os.utime(path), lambda: os.setxattr(path, 'user.left', b'x'),
        lambda: os.removexattr(path, 'user.kept'), lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o600),
        lambda: os.utime(os.open(path, os.O_RDONLY), (1, 1)),
        lambda: os.setxattr(os.open(path, os.O_RDONLY), 'user.left', b'x'),
        lambda: fcntl.ioctl(os.open(path, os.O_RDONLY), 0x40086602, struct.pack('l', 0x80 | 0x40)),
        lambda: fcntl.ioctl(os.open(path, os.O_RDONLY), 0x401C5820, struct.pack('IIIII8x', 0x80, 0, 0, 7, 0)),
        lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), 1036, struct.pack('Q', 2)),
        lambda: call(452, -100, path.encode(), 0o640, 0), lambda: call(463, -100, path.encode(), 0, 0, 0, 0),
        lambda: subprocess.run(['/bin/chmod', '640', path], stderr=subprocess.DEVNULL),
        lambda: subprocess.run(['/bin/touch', '-c', '-d', '1999-01-01', path], stderr=subprocess.DEVNULL),
    ):
        try:
            attempt()
        except (OSError, ValueError):
            pass
"""
REACH = {
    "TCP": "socket.create_connection(('127.0.0.1', {port}))",
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "the kernel's routes": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "the machine that runs this one": "socket.socket(40, socket.SOCK_STREAM)",
    "the kernel's ciphers": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "packets": "socket.socket(17, socket.SOCK_RAW)",
    "by a program": "words = [sys.executable, '-c', 'import socket; socket.socket()']\n"
    "assert subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0",
    "a ring of calls": "call({io_uring}, 1, ctypes.create_string_buffer(120))",
}
NAMED = {
    "a unix socket": "socket.socket(socket.AF_UNIX).connect({unix!r})",
    "an abstract unix socket": "socket.socket(socket.AF_UNIX).connect({abstract!r})",
    "datagrams to a unix socket": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {datagrams!r})",
    "datagrams of a pair": "socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', {datagrams!r})",
}
TOUCH = {
    "signal the runner": "os.kill({runner}, signal.SIGURG)",
    # Process 1 is not told of it, so that the call alone says nothing.
    "signal its keeper": "os.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(0.3)\nraise OSError",
    "signal all": "os.killpg(os.getpgid(os.getppid()), 0)",
    "signal by a descriptor": "call({pidfd_open}, {runner}, 0)",
    "have the kernel signal the runner": "fcntl.fcntl(0, fcntl.F_SETOWN, {runner})",
    "limit the runner": "resource.prlimit({runner}, resource.RLIMIT_NOFILE, (512, 512))",
    "read the runner's limits": "resource.prlimit({runner}, resource.RLIMIT_NOFILE)",
    "limit its keeper": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "slow the runner down": "os.setpriority(os.PRIO_PROCESS, {runner}, 19)",
    "slow all of the user down": "os.setpriority(os.PRIO_USER, 0, 19)",
    "slow its reading": "call({ioprio_set}, 1, {runner}, 3 << 13)",
    "keep the runner from processors": "os.sched_setaffinity({runner}, {{0}})",
    "how the runner is scheduled": "os.sched_setscheduler({runner}, os.SCHED_IDLE, os.sched_param(0))",
    "trace the runner": "call({ptrace}, 16, {runner}, 0, 0)",
    "read the runner's memory": "call({vm_readv}, {runner}, 0, 0, 0, 0, 0)",
    "write the runner's memory": "call({vm_writev}, {runner}, 0, 0, 0, 0, 0)",
    "the runner's memory as a file": "open('/proc/{runner}/mem', 'rb')",
    "the runner's descriptors": "os.listdir('/proc/{runner}/fd')",
    "compare with the runner": "call({kcmp}, os.getpid(), {runner}, 2, 0, 0)",
}
FIND = {
    "by a signal": "try:\n    os.kill({runner}, 0)\nexcept PermissionError:\n    pass",
    "by its session": "os.getsid({runner})",
    "by its group": "os.getpgid({runner})",
    "by its priority": "os.getpriority(os.PRIO_PROCESS, {runner})",
    "by its processors": "os.sched_getaffinity({runner})",
    "by its folder": "os.stat('/proc/{runner}/status')",
}
GAIN = {
    "a capability by a program": "told = subprocess.run(['/bin/grep', 'CapEff', '/proc/self/status'], capture_output=True, "
    "text=True).stdout.split()\nassert told and int(told[1], 16)",
    "another user": "os.setuid(65534)",
    "another group": "os.setgroups([])",
    "namespaces": "call({unshare}, 0x10000000)",
    "namespaces of a new process": "assert call({clone}, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "namespaces of others": "call({setns}, 0, 0)",
    "mount": "call({mount}, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "mount in steps": "call({fsopen}, b'tmpfs', 0)",
    "another root": "os.chroot('/')",
    "programs in the kernel": "call({bpf}, 0, 0, 0)",
    "performance of others": "call({perf}, ctypes.create_string_buffer(128), -1, 0, -1, 0)",
    "faults of pages": "call({userfaultfd}, 1)",
    "more of what is limited": "resource.setrlimit(resource.RLIMIT_FSIZE, (2**50, 2**50))",
    "core dumps": "resource.setrlimit(resource.RLIMIT_CORE, (2**20, 2**20))",
    "memory that is no memory of a process": "os.ftruncate(call({memfd}, b'left', 0), 1 << 20)",
}
# What an item does, and how the next one, or one beside it, would see that.
LEFT_BEHIND = {
    "a key": ("call({add_key}, b'user', b'amemgym-left', b'x', 1, -3)", "call({request_key}, b'user', b'amemgym-left', 0, 0)"),
    "a key of the user's": ("call({add_key}, b'user', b'left', b'x', 1, -4)", "call({keyctl}, 10, -4, b'user', b'left', 0)"),
    "shared memory": ("call({shmget}, {key}, 4096, 0o1600)", "call({shmget}, {key}, 4096, 0)"),
    "a semaphore": ("call({semget}, {key}, 1, 0o1600)", "call({semget}, {key}, 1, 0)"),
    "a queue": ("call({msgget}, {key}, 0o1600)", "call({msgget}, {key}, 0)"),
    "a queue with a name": ("call({mq_open}, b'amemgym-left', 0o102, 0o600, 0)", "call({mq_open}, b'amemgym-left', 0, 0, 0)"),
    "a file in its scratch": ("open('/tmp/amemgym-left', 'w')", "open('/tmp/amemgym-left')"),
    "a file in shared memory": ("open('/dev/shm/amemgym-left', 'w')", "open('/dev/shm/amemgym-left')"),
}
BESIDE = {
    "a lock": ("kept.append(open(os.__file__)); fcntl.flock(kept[-1], fcntl.LOCK_SH)", "cannot_lock(os.__file__)"),
    "a lock of a part": ("lock(os.__file__, fcntl.F_RDLCK)", "lock_of_others(os.__file__)"),
    "a lock of a device": ("lock('/dev/null', fcntl.F_RDLCK)", "lock_of_others('/dev/null')"),
    "a lease": ("pass", "kept.append(os.open(os.__file__, os.O_RDONLY))\nfcntl.fcntl(kept[-1], 1024, fcntl.F_RDLCK)"),
    "a hint": (
        "fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1036, struct.pack('Q', 4))",
        "assert fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1035, bytes(8)) == struct.pack('Q', 4)",
    ),
    "a name of a socket": (
        "kept.append(socket.socket(socket.AF_UNIX)); kept[-1].bind(chr(0) + 'amemgym-left')",
        "try:\n    socket.socket(socket.AF_UNIX).bind(chr(0) + 'amemgym-left')\nexcept OSError as error:\n"
        "    assert error.errno == 98",
    ),
    "a watched file": ("pass", "call({inotify}, 0)"),
    "a watched machine": ("pass", "call({fanotify}, 0, 0)"),
    "a watched folder": ("pass", "fcntl.fcntl(os.open('/usr/bin', os.O_RDONLY), 1026, 1)"),
    "pages that were read": (
        "pass",
        "size = mmap.PAGESIZE\nwith open(os.__file__, 'rb') as file:\n"
        "    place = libc.mmap(None, ctypes.c_size_t(size), 1, 2, file.fileno(), ctypes.c_long(0))\n"
        "call({mincore}, place, size, ctypes.create_string_buffer(1))",
    ),
    "pages that are kept": (
        "pass",
        "call({cachestat}, os.open(os.__file__, os.O_RDONLY), ctypes.create_string_buffer(16), "
        "ctypes.create_string_buffer(40), 0)",
    ),
}
LINGER = {
    "a process of its own": "in_child(lambda: time.sleep(600))",
    "one without parent and session": "daemon()",
    "one that is deaf": "in_child(lambda: ([signal.signal(one, signal.SIG_IGN) for one in (1, 2, 15)], time.sleep(600)))",
    "a program": "subprocess.Popen(['/bin/sleep', '600'], start_new_session=True)",
    "many that start others": "in_child(lambda: [(os.fork(), time.sleep(0.01)) for _ in range(6)] + [time.sleep(600)])",
}
SMALL = {"max_memory_mb": "150", "max_processes": "30", "max_disk_mb": "20"}
HOARDS = {
    "memory": {
        "of its own": "while True: kept.append(b'x' * 10**7)",
        "that processes share": "while True:\n    kept.append(mmap.mmap(-1, 1 << 24))\n    kept[-1].write(b'x' * (1 << 24))",
        "of many processes": "for _ in range(5): in_child(lambda: (kept.append(b'x' * 60_000_000), time.sleep(20)))\n"
        "time.sleep(15)",
    },
    "processes": {
        "children": "for _ in range(60): in_child(lambda: time.sleep(20))\ntime.sleep(15)",
        "threads": "threading.stack_size(65536)\nfor _ in range(60): threading.Thread(target=time.sleep, args=(20,)).start()\n"
        "time.sleep(15)",
        "without parents": "for _ in range(60): in_child(lambda: os.fork() == 0 and time.sleep(20))\ntime.sleep(15)",
    },
    "files": {
        "a large one": "with open(tempfile.mkdtemp() + '/x', 'wb') as file:\n"
        "    for _ in range(40): file.write(b'x' * 1_000_000)",
        "many": "for _ in range(60): open(tempfile.mkstemp()[1], 'wb').write(b'x' * 1_000_000)\ntime.sleep(5)",
        "deleted ones": "for _ in range(60):\n    kept.append(tempfile.TemporaryFile())\n    kept[-1].write(b'x' * 1_000_000)\n"
        "    kept[-1].flush()\ntime.sleep(5)",
        "in shared memory": "for number in range(60):\n"
        "    with open(f'/dev/shm/{{number}}', 'wb') as file: file.write(b'x' * 1_000_000)",
    },
}


class Stage:
    """One boundary, and what a memory may try to reach from inside of it."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind: Kind = kind
        self.folder = folder
        self.victim = folder / "victim"
        self.restore()
        column = NUMBERS[platform.machine()]
        self.named: dict[str, object] = {name: numbers[column] for name, numbers in CALLS.items()}
        self.named |= {"clone": (56, 220)[column], "key": 0x5EC + os.getpid(), "runner": os.getpid()}
        self.named |= {"victim": str(self.victim), "home": str(Path.home()), "in_home": os.listdir(Path.home())}  # noqa: PTH208
        others = [Path(path) for path in package_folders() if path not in sys.path]
        self.named["package"] = str(next((file for path in others for file in path.rglob("*.py")), "/nowhere"))
        # So that both of two items would find one that they share.
        libc = ctypes.CDLL(None)
        libc.syscall(ctypes.c_long(CALLS["keyctl"][column]), ctypes.c_long(1), None)

    def restore(self) -> None:
        """Have the user's file, and none beside it that was made of it."""
        for path in self.folder.glob("victim*"):
            path.rmdir() if path.is_dir() else path.unlink()
        self.victim.write_text("secret words", encoding="utf-8")

    def item(self, **settings: str) -> Item:
        """Return a memory of a new item."""
        return Item(self.folder, **settings)

    def filled(self, attempts: Mapping[str, str]) -> dict[str, str]:
        """Return the attempts with what they are made on."""
        return {name: attempt.format(**self.named) for name, attempt in attempts.items()}

    def done(self, attempts: Mapping[str, str], **settings: str) -> list[str]:
        """Return the names of the attempts that a new memory says were possible."""
        with self.item(**settings) as item:
            return item.done(self.filled(attempts))

    def seen(self) -> dict[str, tuple[object, ...]]:
        """Return what an attempt may have changed of files outside."""
        found: dict[str, tuple[object, ...]] = {}
        for path in (self.victim, self.folder / "own" / "attempts.py", Path(os.__file__), Path(os.devnull)):
            if path.exists():
                now = path.stat()
                attributes = os.listxattr(path)
                found[str(path)] = (now.st_mode, now.st_uid, now.st_gid, now.st_mtime, now.st_size, attributes, flags_of(path))
        return found


def flags_of(path: Path) -> str:
    """Return what the filesystem keeps of a file beside its mode, where a program tells it."""
    told = subprocess.run(["lsattr", "-d", str(path)], capture_output=True, text=True, check=False)
    return told.stdout.split(" ")[0]


@contextmanager
def servers(stage: Stage) -> Generator[list[socket.socket]]:
    """Sockets of this machine that a memory may try to reach."""
    with ExitStack() as opened:
        tcp = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(tcp.getsockname())
        unix, abstract = (opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        datagrams = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        door, post = (stage.folder / name for name in ("door", "post"))
        names = {"unix": str(door), "abstract": f"\0amemgym-{os.getpid()}", "datagrams": str(post)}
        for path in (door, post):
            path.unlink(missing_ok=True)
        for server, name in zip((unix, abstract, datagrams), names.values(), strict=True):
            server.bind(name)
        unix.listen()
        abstract.listen()
        stage.named |= {**names, "port": tcp.getsockname()[1]}
        yield [tcp, udp, unix, abstract, datagrams]


def was_reached(server: socket.socket) -> bool:
    """Return True where somebody has connected or sent something."""
    server.setblocking(False)
    try:
        server.accept() if server.type == socket.SOCK_STREAM else server.recv(10)
    except BlockingIOError:
        return False
    return True


def reads_nothing_else(stage: Stage) -> list[str]:
    return stage.done(READ) + stage.done(READ, network="true")


def learns_no_names(stage: Stage) -> list[str]:
    return stage.done(LOOK)


def writes_scratch_alone(stage: Stage) -> list[str]:
    stage.done({})
    before = stage.seen(), sorted(stage.folder.iterdir())
    possible: list[str] = []
    for settings in ({}, {"network": "true"}):
        with stage.item(**settings) as item:
            for name, attempt in stage.filled(WRITE).items():
                if item.answer(attempt) == "done" or (stage.seen(), sorted(stage.folder.iterdir())) != before:
                    possible.append(name)
                    stage.restore()
                    before = stage.seen(), sorted(stage.folder.iterdir())
    return possible


def changes_nothing_of_files(stage: Stage) -> list[str]:
    stage.done({})
    before = stage.seen()
    for settings in ({}, {"network": "true"}):
        with stage.item(**settings) as item:
            item.answer(CHANGE.format(paths=list(before)))
    return [path for path, now in stage.seen().items() if now != before[path]]


def opens_no_socket(stage: Stage) -> list[str]:
    with servers(stage) as there:
        possible = stage.done({**REACH, **NAMED})
        return possible + [str(server) for server in there if was_reached(server)]


def reaches_the_internet_alone(stage: Stage) -> list[str]:
    others = {name: attempt for name, attempt in REACH.items() if name not in ("TCP", "UDP", "by a program")}
    with servers(stage) as there:
        possible = stage.done({**others, **NAMED}, network="true")
        return possible + [str(server) for server in there[2:] if was_reached(server)]


def touches_no_process(stage: Stage) -> list[str]:
    def state() -> tuple[object, ...]:
        return os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0)

    before = state()
    heard: list[int] = []
    usual = signal.signal(signal.SIGURG, lambda number, _: heard.append(number))
    try:
        possible = stage.done(TOUCH) + stage.done(TOUCH, network="true")
    finally:
        signal.signal(signal.SIGURG, usual)
    return possible + ["it is not as before"] * (state() != before or bool(heard))


def finds_no_process(stage: Stage) -> list[str]:
    return stage.done(FIND)


def gains_nothing(stage: Stage) -> list[str]:
    return stage.done(GAIN) + stage.done(GAIN, network="true")


def leaves_nothing_behind(stage: Stage) -> list[str]:
    return _notes(stage, LEFT_BEHIND, beside=False)


def passes_nothing_beside(stage: Stage) -> list[str]:
    return _notes(stage, BESIDE, beside=True)


def _notes(stage: Stage, notes: Mapping[str, tuple[str, str]], *, beside: bool) -> list[str]:
    """Return the names of what one item does that another one sees, and would not see without it."""
    written = stage.filled({name: writing for name, (writing, _) in notes.items()})
    reading = stage.filled({name: reading for name, (_, reading) in notes.items()})
    found: list[str] = []
    for settings in ({}, {"network": "true"}):
        with ExitStack() as items:
            writer = items.enter_context(stage.item(**settings))
            for attempt in written.values():
                writer.answer(attempt)
            if not beside:
                items.close()
            found += items.enter_context(stage.item(**settings)).done(reading)
    return found


def ends_with_its_item(stage: Stage) -> list[str]:
    left: list[str] = []
    for name, attempt in stage.filled(LINGER).items():
        others = set(descendants(os.getpid()))  # such as multiprocessing's own, of an earlier test
        with stage.item() as item:
            item.answer(attempt)
            started = [process for process in descendants(os.getpid()) if process not in others]
            assert started, "an item has a process"
        end = time.monotonic() + LONG
        while (alive := [one for one in started if was_started(one)]) and time.monotonic() < end:
            time.sleep(0.05)
        if alive:
            left.append(name)
        for process, _ in alive:
            os.kill(process, signal.SIGKILL)
    return left


def descendants(process: int) -> list[tuple[int, str]]:
    """Return the processes that came of this one, each with the time of its start, which no other of its number has."""
    found: list[tuple[int, str]] = []
    due = [process]
    for number in due:
        due += children(number)
    for number in due[1:]:
        with suppress(OSError):
            found.append((number, start_of(number)))
    return found


def start_of(process: int) -> str:
    """Return the time at which a process was started."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


def was_started(process: tuple[int, str]) -> bool:
    """Return True for a process that still runs, and is no later one of its number."""
    try:
        return start_of(process[0]) == process[1] and "State:\tZ" not in Path(f"/proc/{process[0]}/status").read_text("utf-8")
    except OSError:
        return False


def hoards(what: str) -> Callable[[Stage], list[str]]:
    """Return the attempts to have more of something than a memory may have."""

    def attempt_all(stage: Stage) -> list[str]:
        possible: list[str] = []
        for name, attempt in stage.filled(HOARDS[what]).items():
            with stage.item(**SMALL) as item:
                try:
                    if item.answer(attempt) == "done":
                        possible.append(name)
                except MemoryFailed as error:
                    # Which setting allows more, but where the kernel itself gives no more threads.
                    if not any(words in str(error) for words in ("setting max_", "can't start new thread")):
                        possible.append(f"{name}, and was told: {error}")
        return possible

    return attempt_all


def possible_in_call(stage: Stage, attempts: Mapping[str, str]) -> list[str]:
    """Return what the code of a package says that it could do in a call."""
    numbers = PACKAGE_NUMBERS[platform.machine()]
    with servers(stage) as there:
        told = ast.literal_eval(possible(dict(attempts), stage.kind, **{**stage.named, **numbers}))
        return [*told, *(str(server) for server in there if was_reached(server))]


OF_PACKAGES: Mapping[str, Callable[[Stage], Sequence[str]]] = {
    "reads the interpreter, the system's libraries and its own files alone, and writes and changes none": lambda stage: (
        possible_in_call(stage, FILES)
    ),
    "learns no name, size or date of another file": lambda stage: possible_in_call(stage, LOOK_IN_CALL),
    "opens no socket of any family": lambda stage: possible_in_call(stage, SOCKETS),
    "starts, signals, limits and traces no process, and gets no right that it was not given": lambda stage: possible_in_call(
        stage, PROCESSES
    ),
}
PROMISES: Mapping[str, Callable[[Stage], Sequence[str]]] = {
    "reads the interpreter, installed packages, system programs and its own folder, and no other file": reads_nothing_else,
    "learns no name, size or date of another file": learns_no_names,
    "writes and deletes nothing but in its scratch folder": writes_scratch_alone,
    "changes no mode, owner, time or attribute of a file": changes_nothing_of_files,
    "opens no socket, unless `network` is set": opens_no_socket,
    "with `network`, opens sockets of the internet alone, none of this machine's files and names": reaches_the_internet_alone,
    "signals, limits, slows, traces and reads no process but its own": touches_no_process,
    "does not learn which other processes there are": finds_no_process,
    "gets no right, namespace or service of the kernel that it was not given": gains_nothing,
    "leaves nothing for a later item: no key, no shared memory, no queue, no file": leaves_nothing_behind,
    "passes nothing to an item beside it by locks, leases, watched files or names": passes_nothing_beside,
    "ends with its item, with everything that it started": ends_with_its_item,
    "holds no more memory than `max_memory_mb`": hoards("memory"),
    "has no more processes and threads than `max_processes`": hoards("processes"),
    "keeps no more on disk than `max_disk_mb`": hoards("files"),
}
