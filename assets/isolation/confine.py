"""Close a boundary of the system around this process, then run a program in it: `python confine.py OPTIONS < job`.

An interpreter that has the standard library alone runs this file as a script, so that it imports nothing of this project. What
it promises, and what it does not, is on the page `pipelines/guide/security.md`. Two processes take part:
- the server, which runs our program and none of the foreign code. Where namespaces are to be had it is process 1 of its own,
  without network, and sees the interpreter and one folder, both read-only;
- a child for each piece of foreign work, sealed before it begins: Landlock leaves it the same folders to read, and seccomp
  leaves it the calls that computing takes. It starts no process, opens no socket and signals nobody but itself.
A child answers through a pipe of its own. The server reads it, ends the child with all that came of it, and answers in turn.
A resident program, such as a memory of others, is the foreign code itself: it stays, is asked and answers by lines, may write
to a folder for scratch alone, and reaches the network only where that was declared.
"""

import builtins
import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, NamedTuple

MOST_BYTES = 65_536  # of one line of an answer
MOST_FILES = 64
INTERPRETER_MB = 128  # address space before a program has anything of its own
INSIDE_ID = "1000"  # of user and group, whoever runs it

# unshare(2): mounts, host name, IPC, users, processes, network.
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
NEW_NETWORK = 0x40000000
MOUNT_BIND = 0x1000
MOUNT_RECURSIVE = 0x4000
MOUNT_PRIVATE = 0x40000
DETACH = 2
MOUNT_SETATTR = 442
RECURSIVE = 0x8000
AT_CWD = -100
READ_ONLY = 1
READ_ONLY_NO_SUID_NO_DEVICES = READ_ONLY | 2 | 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
# prctl(2)
DIE_WITH_PARENT = 1
DUMPABLE = 4
SECCOMP = 22
NO_NEW_PRIVILEGES = 38
CAPABILITIES_VERSION = 0x20080522
# Landlock's calls have the same numbers on all processors.
CREATE_RULESET = 444
ADD_RULE = 445
RESTRICT_SELF = 446
EXECUTE = 1
READ_FILE = 1 << 2
READ_FOLDER = 1 << 3
WRITE_FILE = 1 << 1
SCRATCH = "/tmp"  # noqa: S108 - of the process's own root, where it has one
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
# Socket, its oldest way around it (io_uring), and looking into other processes: x86_64, aarch64.
REFUSED_TO_RESIDENTS = ((41, 198), (425, 425), (101, 117), (310, 270), (311, 271))

# Kernel's names of processors for seccomp, and the calls that computing takes, by name and number on x86_64 and aarch64.
PROCESSORS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED_CALLS = """
read 0 63, write 1 64, close 3 57, lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216,
madvise 28 233, brk 12 214, fstat 5 80, newfstatat 262 79, stat 4 -, lstat 6 -, statx 332 291, access 21 -,
faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getcwd 79 17, getdents64 217 61,
pread64 17 67, readv 19 65, writev 20 66, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72,
close_range 436 436, umask 95 166, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
sigaltstack 131 132, restart_syscall 219 128, setitimer 38 103, getitimer 36 102, alarm 37 -, futex 202 98,
set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, sched_yield 24 124, sched_getaffinity 204 123,
membarrier 324 283, exit 60 93, exit_group 231 94, nanosleep 35 101, clock_nanosleep 230 115,
clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153, getrusage 98 165,
getrandom 318 278, getcpu 309 168, getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174,
geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158, uname 63 160, getrlimit 97 163
"""
CLONE_THREAD = 0x00010000
TERMINAL_ATTRIBUTES = 0x5401
SET_FLAGS = 4
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Classic BPF: load a word, compare it (equal, at least, any bit set), return.
LOAD = 0x20
EQUAL = 0x15
AT_LEAST = 0x35
ANY_BIT = 0x45
RETURN = 0x06
ALLOW = 0x7FFF0000
FAIL = 0x00050000
KILL = 0x80000000

Tell = Callable[[bytes], None]


class ProcessOutcome(NamedTuple):
    """Lines that a child told, its exit code (negative: the signal), and whether it was never silent for too long."""

    lines: list[bytes]
    exit_code: int
    on_time: bool


class Boundary:
    """The closed boundary, as the program inside it uses it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._kind: str = options["kind"]
        resident: dict[str, Any] | None = options.get("resident")
        self._answers = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        # Lines that come after the job, for a resident program.
        self.requests = os.fdopen(os.dup(0), "rb")
        self.job: dict[str, Any] = json.loads(self.requests.readline())
        os.dup2(nothing, 0)
        # What a resident program prints is for whoever reads the messages of the program that started it.
        os.dup2(nothing if resident is None else 2, 1)
        if resident is None:
            os.dup2(nothing, 2)
        os.close(nothing)
        if self._kind == "namespaces":
            _enter_namespaces(options["root"], options["shown"], answers=self._answers, resident=resident)
        if resident is not None:
            _settle(self._kind, options["shown"], answers=self._answers, resident=resident)
            return
        self._ruleset = None
        if self._kind != "none":
            _drop_privileges()
            _die_with_parent(self._answers)
            self._ruleset = _landlock_ruleset(options["shown"])
            if self._ruleset is None and self._kind == "landlock":
                raise OSError(errno.ENOSYS, "Landlock is not there")
        # What has a handler would reach process 1 from its own children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def answer(self, line: bytes) -> None:
        """Write a line to whoever started this process."""
        with os.fdopen(os.dup(self._answers), "wb") as answers:
            answers.write(line + b"\n")

    def answers(self) -> BinaryIO:
        """Return a file for lines to whoever started this process."""
        return os.fdopen(os.dup(self._answers), "wb")

    def run(
        self, work: Callable[[Tell], None], *, most_lines: int, memory_mb: int, silent: tuple[float, float], seconds: float
    ) -> ProcessOutcome:
        """Do the work in a sealed child, which tells lines of what comes of it.

        `silent`: for how many seconds it may tell nothing before its first line, and before each later one. `seconds`: in all.
        """
        # It tells our lines from others that the child writes. Code that searches the interpreter finds it, for its own child.
        secret = os.urandom(16).hex().encode() + b" "
        reading, writing = os.pipe()
        server = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                os.dup2(writing, self._answers)
                self._seal(server, memory_mb=memory_mb, cpu_seconds=int(seconds) + 1)
                work(_teller(self._answers, secret))
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        lines, on_time = _read_lines(reading, secret, most_lines=most_lines, silent=silent, seconds=seconds)
        os.close(reading)
        return ProcessOutcome(lines, self._end(child), on_time)

    def _seal(self, server: int, *, memory_mb: int, cpu_seconds: int) -> None:
        """Give up all that the work does not need. Raises OSError where the system does not take it."""
        memory = (INTERPRETER_MB + memory_mb) * 1024 * 1024
        limits = {"AS": memory, "FSIZE": 0, "CORE": 0, "NOFILE": MOST_FILES, "CPU": cpu_seconds}
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for name, most in limits.items():
            # A limit that is lower already stays, and macOS takes none of the address space.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        if self._kind == "none":
            os.setpgid(0, 0)
            os.closerange(self._answers + 1, MOST_FILES)
            return
        _prctl(DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        if self._ruleset is not None:
            _system_call(RESTRICT_SELF, self._ruleset, 0)
        os.closerange(self._answers + 1, MOST_FILES)
        _refuse_other_calls()

    def _end(self, child: int) -> int:
        """Kill the child, where the kernel has a list of them all that came of it, and return its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpid() == 1:
                os.kill(-1, signal.SIGKILL)
            elif self._kind == "none":
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        code = 0
        while True:
            try:
                ended, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return code
            if ended == child:
                code = os.waitstatus_to_exitcode(status)


def _teller(pipe: int, secret: bytes) -> Tell:
    write = os.write  # before foreign code can put something else there

    def tell(line: bytes) -> None:
        write(pipe, secret + line + b"\n")

    return tell


def _read_lines(
    pipe: int, secret: bytes, *, most_lines: int, silent: tuple[float, float], seconds: float
) -> tuple[list[bytes], bool]:
    """The lines that begin with the secret, and whether they came in time."""
    lines: list[bytes] = []
    rest = b""
    last = time.monotonic() + seconds
    end = time.monotonic() + silent[0]
    while len(lines) < most_lines and len(rest) <= MOST_BYTES:
        ready, _, _ = select.select([pipe], [], [], max(0.0, min(end, last) - time.monotonic()))
        if not ready:
            return lines, False
        more = os.read(pipe, MOST_BYTES)
        if not more:
            break
        *whole, rest = (rest + more).split(b"\n")
        told = [line.removeprefix(secret) for line in whole if line.startswith(secret)]
        if told:
            lines += told
            end = time.monotonic() + silent[1]
    return lines[:most_lines], True


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _system_call(number: int, *arguments: Any) -> int:
    """Make a call that the C library has no name for. Raises OSError."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *given), f"system call {number}")


def _prctl(option: int, value: int, pointer: Any = None) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), pointer, None, None), f"prctl {option}")


def _mount(source: str | None, target: str, *, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _checked(_libc().mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def _die_with_parent(answers: int) -> None:
    """End when the parent does, and at once where nobody reads the answers any more, so that it has ended already."""
    _prctl(DIE_WITH_PARENT, signal.SIGKILL)
    poll = select.poll()
    poll.register(answers, 0)
    if poll.poll(0):
        os._exit(1)


def _settle(kind: str, shown: Sequence[str], *, answers: int, resident: dict[str, Any]) -> None:
    """Give up for good all that a resident program does not need. Raises OSError where the system does not take it."""
    if kind == "none":
        return
    _drop_privileges()
    _die_with_parent(answers)
    if kind == "landlock":
        ruleset = _landlock_ruleset(shown, resident=resident)
        if ruleset is None:
            raise OSError(errno.ENOSYS, "Landlock is not there")
        _system_call(RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
    if not resident["network"]:
        _refuse_sockets()


def _enter_namespaces(root: str, shown: Sequence[str], *, answers: int, resident: dict[str, Any] | None) -> None:
    """Return as process 1 of new namespaces, whose files are those of `shown`, read-only, below a new root."""
    user = os.getuid()
    group = os.getgid()
    namespaces = NEW_NAMESPACES
    if resident is not None and resident["network"]:
        namespaces &= ~NEW_NETWORK
    _checked(_libc().unshare(namespaces), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{INSIDE_ID} {user} 1"), ("gid_map", f"{INSIDE_ID} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib takes a while to import
            file.write(text)
    _checked(_libc().sethostname(b"inside", 6), "sethostname")
    server = os.fork()
    if server:
        _die_with_parent(answers)
        _, status = os.waitpid(server, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0x7F)
    _mount(None, "/", flags=MOUNT_RECURSIVE | MOUNT_PRIVATE)
    _mount("tmpfs", root, kind="tmpfs", data="size=64k,mode=755")
    if resident is not None:
        # Before what is shown, which may lie below it.
        os.makedirs(root + SCRATCH)  # noqa: PTH103
        _mount("tmpfs", root + SCRATCH, kind="tmpfs", data="size=2g,mode=1777")
        os.makedirs(root + "/proc")  # noqa: PTH103
        os.makedirs(root + SHARED_MEMORY)  # noqa: PTH103
        for device in DEVICES:
            _mount_point(device, root + device)
    for path in shown:
        _mount_point(path, root + path)
        _mount(path, root + path, flags=MOUNT_BIND | MOUNT_RECURSIVE)
    _set_attributes(root, added=READ_ONLY_NO_SUID_NO_DEVICES, recursive=True)
    if resident is not None:
        _set_attributes(root + SCRATCH, removed=READ_ONLY)
        # Of its own processes alone; some machines let nobody mount it, and few programs miss it.
        with contextlib.suppress(OSError):
            _mount("proc", root + "/proc", kind="proc")
        _mount("tmpfs", root + SHARED_MEMORY, kind="tmpfs", data="size=1g,mode=1777")
        for device in DEVICES:
            _mount(device, root + device, flags=MOUNT_BIND)
    os.chdir(root)
    # The old root comes to lie over the new one, and is taken off.
    _system_call(PIVOT_ROOT[os.uname().machine], b".", b".")
    _checked(_libc().umount2(b".", DETACH), "umount")
    os.chdir("/")


def _mount_point(path: str, place: str) -> None:
    """Make an empty folder or file at the place, whichever the path is."""
    if os.path.isdir(path):  # noqa: PTH112
        os.makedirs(place, exist_ok=True)  # noqa: PTH103
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
    os.close(os.open(place, os.O_CREAT | os.O_RDONLY, 0o644))


def _set_attributes(path: str, *, added: int = 0, removed: int = 0, recursive: bool = False) -> None:
    attributes = struct.pack("=QQQQ", added, removed, 0, 0)
    _system_call(MOUNT_SETATTR, AT_CWD, path.encode(), RECURSIVE if recursive else 0, attributes, len(attributes))


def _drop_privileges() -> None:
    """Give up all capabilities, new privileges by programs, core dumps, and being looked into by other processes."""
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    _checked(_libc().capset(header, bytes(24)), "capset")
    _prctl(NO_NEW_PRIVILEGES, 1)
    _prctl(DUMPABLE, 0)


def _landlock_ruleset(shown: Sequence[str], *, resident: dict[str, Any] | None = None) -> int | None:
    """A ruleset that lets nothing be done with files but reading those shown; None where the kernel has no Landlock.

    A resident program may also write below its scratch folder, list the folders that it finds its modules in, and connect by
    TCP where it has declared that.
    """
    try:
        version = _system_call(CREATE_RULESET, None, 0, 1)
    except OSError:
        return None
    # What each version of Landlock has added: linking elsewhere, truncating, ioctl on devices; TCP; signals, abstract sockets.
    files = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    network = 0 if resident is not None and resident["network"] else 3
    words = [files] + [network] * (version >= 4) + [3] * (version >= 6)
    handled = struct.pack(f"={len(words)}Q", *words)
    ruleset = _system_call(CREATE_RULESET, handled, len(handled), 0)
    allowed = [(path, READ_FILE | READ_FOLDER | (EXECUTE if resident else 0)) for path in shown]
    if resident is not None:
        allowed.append((resident["scratch"], files))
        allowed += [(path, READ_FOLDER) for path in resident["listed"]]
        allowed += [(device, READ_FILE | WRITE_FILE) for device in DEVICES]
    for path, rights in allowed:
        if not os.path.isdir(path):  # noqa: PTH112
            rights &= EXECUTE | READ_FILE | WRITE_FILE
        opened = os.open(path, os.O_PATH)
        _system_call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    return ruleset


def _refuse_sockets() -> None:
    """Let this process and all that it starts open no socket but pairs of its own, and look into no other process."""
    machine = os.uname().machine
    column = list(PROCESSORS).index(machine)
    program = [_step(LOAD, 4), _step(EQUAL, PROCESSORS[machine], 1, 0), _step(RETURN, KILL), _step(LOAD, 0)]
    for numbers in REFUSED_TO_RESIDENTS:
        program += [_step(EQUAL, numbers[column], 0, 1), _step(RETURN, FAIL | errno.EPERM)]
    program.append(_step(RETURN, ALLOW))
    _install(program)


def _refuse_other_calls() -> None:
    """Let this process make the allowed system calls alone, from here to its end. Every other one fails with EPERM."""
    machine = os.uname().machine
    column = list(PROCESSORS).index(machine) + 1
    numbers = [entry.split()[column] for entry in ALLOWED_CALLS.split(",")]
    program = [_step(LOAD, 4), _step(EQUAL, PROCESSORS[machine], 1, 0), _step(RETURN, KILL), _step(LOAD, 0)]
    for number in numbers:
        if number != "-":
            program += [_step(EQUAL, int(number), 0, 1), _step(RETURN, ALLOW)]
    for calls, argument, comparison in _conditions(os.getpid()):
        # A program that the kernel takes from us holds: number, then the argument, then yes or no.
        program += [
            _step(EQUAL, calls[column - 1], 0, 4),
            _step(LOAD, 16 + 8 * argument),
            comparison,
            _step(RETURN, ALLOW),
            _step(RETURN, FAIL | errno.EPERM),
        ]
    # The C library falls back to clone where there is no clone3, whose flags cannot be looked at.
    program += [_step(EQUAL, 435, 0, 1), _step(RETURN, FAIL | errno.ENOSYS), _step(RETURN, FAIL | errno.EPERM)]
    _install(program)


def _install(program: Sequence[bytes]) -> None:
    """Give the kernel a program that decides on each system call of this process, from here to its end."""
    steps = ctypes.create_string_buffer(b"".join(program))
    _prctl(SECCOMP, 2, ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(steps))))


def _conditions(process: int) -> list[tuple[tuple[int, int], int, bytes]]:
    """Calls (x86_64, aarch64) that are allowed by an argument: which one, and the step that goes on where it may be so."""
    reads_only = _step(ANY_BIT, WRITING, 1, 0)
    is_own_process = _step(EQUAL, process, 0, 1)
    return [
        ((257, 56), 2, reads_only),  # openat
        ((2, 1_000_000), 1, reads_only),  # open, which aarch64 does not have
        ((56, 220), 0, _step(ANY_BIT, CLONE_THREAD, 0, 1)),  # clone
        ((62, 129), 0, is_own_process),  # kill
        ((234, 131), 0, is_own_process),  # tgkill
        # fcntl, but for setting flags, and all that is numbered above it: signals to others, locks, leases.
        ((72, 25), 1, _step(AT_LEAST, SET_FLAGS, 1, 0)),
        ((302, 261), 0, _step(EQUAL, 0, 0, 1)),  # prlimit64 of the caller
        ((16, 29), 1, _step(EQUAL, TERMINAL_ATTRIBUTES, 0, 1)),  # ioctl, by which files are asked whether they are terminals
    ]


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One instruction of a BPF program, with the numbers of instructions to skip after a comparison."""
    return struct.pack("=HBBI", code, if_so, if_not, value)


def main() -> None:
    options = json.loads(sys.argv.pop())
    # Paths of this machine are no business of the code: PWD is set by bubblewrap.
    os.environ.pop("PWD", None)
    sys.orig_argv.clear()
    os.chdir("/")
    with open(options["program"], encoding="utf-8") as file:  # noqa: PTH123
        program = compile(file.read(), options["program"], "exec")
    boundary = Boundary(options)
    # A copy of the built-in names: foreign code that changes `builtins` changes nothing of the program.
    names: dict[str, Any] = {"__name__": "program", "__builtins__": {**vars(builtins)}}
    exec(program, names)  # noqa: S102
    names["main"](boundary)


if __name__ == "__main__":
    main()
