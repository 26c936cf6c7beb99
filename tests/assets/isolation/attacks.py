"""Code that tries to break out: attempts, each of which tells that it was possible, and ways of making them."""

from pathlib import Path
from textwrap import indent

from assets.code_qa.execution.sandbox import CalledFunction, CallReport, run_calls
from assets.code_qa.records.sources import CodeFile
from assets.isolation.boundary import Kind
from assets.recipe.code_qa import SandboxLimits
from tests.support.processes import PROC, numbers_in

LIMITS = SandboxLimits(seconds=1.0, memory_mb=64, lines=100_000)
GOOD = "def good(x):\n    return [x, 'y']\n"
# The audit hook is no part of the boundary: it is found in the interpreter's frames and told to let everything pass.
DISARMED = """
import sys
frame = sys._getframe()
while frame is not None:
    hook = frame.f_locals.get("guard")
    if hook is not None:
        type(hook).__call__ = lambda *_: None
        hook.armed = False
    frame = frame.f_back
import atexit, builtins, ctypes, fcntl, gc, json, mmap, os, resource, signal, threading, time, _socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")
"""
POSSIBLE = """
def bad(x):
    possible = []
    for name, attempt in ATTEMPTS.items():
        try:
            attempt()
        except (OSError, ValueError):
            continue
        possible.append(name)
    return possible
"""
FILES = {
    "read": "open({victim!r}).read()",
    "read the home": "os.listdir({home!r})",
    "read what processes are there": "os.listdir('/proc')",
    "read the server's memory": "open(f'/proc/{{os.getppid()}}/mem', 'rb')",
    "read the server's descriptors": "os.open(f'/proc/{{os.getppid()}}/fd/1', os.O_RDONLY)",
    "delete": "os.remove({victim!r})",
    "append": "open({victim!r}, 'a')",
    "truncate while reading": "os.open({victim!r}, os.O_RDONLY | os.O_TRUNC)",
    "truncate": "os.truncate({victim!r}, 0)",
    "change the mode": "os.chmod({victim!r}, 0o777)",
    "change the owner": "os.chown({victim!r}, 1, 1)",
    "change the time": "os.utime({victim!r}, (1, 1))",
    "set an attribute": "os.setxattr({victim!r}, 'user.left', b'x')",
    "rename": "os.rename({victim!r}, {victim!r} + '.left')",
    "link": "os.link({victim!r}, {victim!r} + '.left')",
    "link by name": "os.symlink({victim!r}, {victim!r} + '.left')",
    "make a folder": "os.mkdir({victim!r} + '.left')",
    "write into the package": "open(__file__, 'a')",
    "link within the package": "os.symlink({victim!r}, __file__ + '.left')",
    "write to the temporary folder": "open('/tmp/left', 'w')",
    "write to shared memory": "open('/dev/shm/left', 'w')",
    "write an interpreter's file": "open(json.__file__, 'a')",
    "write memory as a file": "os.write(os.memfd_create('left'), b'x')",
}
SOCKETS = {
    "a unix socket": "_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).connect({unix!r})",
    "an abstract unix socket": "_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).connect({abstract!r})",
    "TCP": "_socket.socket().connect(('127.0.0.1', {port}))",
    "UDP": "_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "the kernel's routes": "_socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW)",
    "a pair": "_socket.socketpair()",
    "one by its number on x32": "call(0x40000000 + 41, 2, 1, 0)",
}
PROCESSES = {
    "fork": "os.fork()",
    "start a program": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {{}})",
    "begin a session": "os.setsid()",
    "signal the server": "os.kill(os.getppid(), 0)",
    "have the kernel signal the server": "fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
    "signal its group": "os.killpg(0, 0)",
    "trace the server": "call({ptrace}, 16, os.getppid(), 0, 0)",
    "write the server's memory": "call({vm_writev}, os.getppid(), 0, 0, 0, 0, 0)",
    "limit the server": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "slow the server down": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "keep the server from processors": "os.sched_setaffinity(os.getppid(), {{0}})",
    "more memory": "resource.setrlimit(resource.RLIMIT_AS, (2**50, 2**50))",
    "core dumps": "resource.setrlimit(resource.RLIMIT_CORE, (1, 1))",
    "mount": "call({mount}, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "new namespaces": "call({unshare}, 0x10000000)",
    "another root": "os.chroot('/')",
    "rings of calls": "call(425, 1, ctypes.create_string_buffer(120))",
    "programs in the kernel": "call({bpf}, 0, 0, 0)",
    "keys of the kernel": "call({keyctl}, 0, -3, 1)",
    "shared memory that stays": "call({shmget}, 0, 4096, 0o1600)",
    "performance of others": "call({perf}, 0, -1, 0, -1, 0)",
    "another user": "os.setuid(65534)",
}
NUMBERS = {
    "x86_64": {
        "ptrace": 101,
        "vm_writev": 311,
        "mount": 165,
        "unshare": 272,
        "bpf": 321,
        "keyctl": 250,
        "shmget": 29,
        "perf": 298,
    },
    "aarch64": {
        "ptrace": 117,
        "vm_writev": 271,
        "mount": 40,
        "unshare": 97,
        "bpf": 280,
        "keyctl": 219,
        "shmget": 194,
        "perf": 241,
    },
}
# Ways of attacking when no call is made: `attack()` stands for the attempt.
WAYS = {
    "when it is imported": "attack()",
    "at exit": "atexit.register(attack)",
    "in a thread": "threading.Thread(target=attack).start()",
    "in a child": "if os.fork() == 0:\n    attack()",
}


def possible(attempts: dict[str, str], kind: Kind, **named: object) -> str:
    """The names of the attempts that were possible, as the code that made them tells: a list of texts."""
    entries = [f"    {name!r}: lambda: {attempt.format(**named)},\n" for name, attempt in attempts.items()]
    first, good = run(f"{DISARMED}\nATTEMPTS = {{\n{''.join(entries)}}}\n{POSSIBLE}", kind=kind)
    assert good.text == "[1, 'y']"
    return first.text or first.status


def run(source: str, *, kind: Kind | None = None, limits: SandboxLimits = LIMITS) -> list[CallReport]:
    """Reports of `bad(1)`, and of `good(1)` after it."""
    functions = [CalledFunction(module="pack.mod", name=name, calls=(("1",),)) for name in ("bad", "good")]
    files = [
        CodeFile(path="pack/__init__.py", module="pack", text="", content="-"),
        CodeFile(path="pack/mod.py", module="pack.mod", text=f"{source}\n{GOOD}", content="-"),
    ]
    (bad,), (good,) = run_calls(functions, files=files, limits=limits, hash_seed=1, kind=kind)
    return [bad, good]


def attacking(attempt: str, way: str) -> str:
    """A module that makes the attempt in this way, and does nothing when it is called."""
    tried = f"def attack():\n    try:\n{indent(attempt, ' ' * 8)}\n    except OSError:\n        pass\n"
    begun = f"try:\n{indent(WAYS[way], ' ' * 4)}\nexcept OSError:\n    pass\n"
    return f"{DISARMED}\n{tried}\n{begun}\ndef bad(x):\n    time.sleep(0.2)\n    return x\n"


def processes_of(folder: Path) -> list[str]:
    """Command lines of the processes that were started for packages below the folder."""
    found: list[str] = []
    for process in numbers_in(PROC):
        try:
            words = (PROC / f"{process}/cmdline").read_bytes().decode(errors="replace")
            inside = (PROC / f"{process}/cwd").readlink().is_relative_to(folder)
        except OSError:
            continue
        if inside or str(folder) in words:
            found.append(words)
    return found
