"""Seccomp: the system calls that this process may make, from here to its end, with everything that it starts."""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from assets.isolation.kernel import SECCOMP, control_process

# Kernel's names of processors for seccomp, and calls by name and number on x86_64 and aarch64.
PROCESSORS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COMPUTING = """
read 0 63, write 1 64, close 3 57, lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216,
madvise 28 233, brk 12 214, fstat 5 80, newfstatat 262 79, stat 4 -, lstat 6 -, statx 332 291, access 21 -,
faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getcwd 79 17, getdents64 217 61,
pread64 17 67, readv 19 65, writev 20 66, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72,
close_range 436 436, umask 95 166, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
sigaltstack 131 132, restart_syscall 219 128, setitimer 38 103, getitimer 36 102, alarm 37 -, futex 202 98,
set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, sched_yield 24 124, membarrier 324 283, exit 60 93,
exit_group 231 94, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114,
gettimeofday 96 169, time 201 -, times 100 153, getrusage 98 165, getrandom 318 278, getcpu 309 168, getpid 39 172,
gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158,
uname 63 160, getrlimit 97 163
"""
# What files, threads, programs and their pipes take, beside computing.
LIVING = """
creat 85 -, pwrite64 18 68, preadv 295 69, pwritev 296 70, getdents 78 -, ftruncate 77 46, fallocate 285 47, fsync 74 82,
fdatasync 75 83, msync 26 227, statfs 137 43, fstatfs 138 44, fadvise64 221 223, sendfile 40 71, copy_file_range 326 285,
mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276,
link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, mknod 133 -, mknodat 259 33, chdir 80 49, fchdir 81 50,
dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, eventfd 284 -, eventfd2 290 19, signalfd 282 -, signalfd4 289 74,
epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441,
timer_create 222 107, timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87, rt_sigpending 127 136, rt_sigsuspend 130 133,
rt_sigtimedwait 128 137, pause 34 -, fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, wait4 61 260, waitid 247 95,
setpgid 109 154, getpgrp 111 -, setsid 112 157, getresuid 118 148, getresgid 120 150, setrlimit 160 164, prctl 157 167,
arch_prctl 158 -, sysinfo 99 179, sched_get_priority_max 146 125, sched_get_priority_min 147 126, mlock 149 228,
munlock 150 229, mbind 237 235, get_mempolicy 239 236, set_mempolicy 238 237, getsockname 51 204, getpeername 52 205,
getsockopt 55 209, setsockopt 54 208, sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269,
recvmmsg 299 243, shutdown 48 210
"""
CONNECTING = "accept 43 202, accept4 288 242, bind 49 200, connect 42 203, listen 50 201"
# Signals to others, where nothing else keeps them in.
SIGNALLING = "kill 62 129, tkill 200 130, tgkill 234 131"
# Modes, owners and times are left as they are, whoever's file it is, and a lock is granted without being taken: programs that
# copy files or keep a database go on, and nothing of it is seen outside.
PRETENDED = """
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54,
utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, flock 73 32
"""
WITHOUT_ATTRIBUTES = """
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11,
llistxattr 195 12, flistxattr 196 13, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16
"""
# Of this process alone, which says 0: prlimit64, the processors it runs on, how it is scheduled, its group and its session.
OF_ITSELF = """
prlimit64 302 261, sched_setaffinity 203 122, sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120,
getpgid 121 155, getsid 124 156
"""
CLONE_THREAD = 0x00010000
CLONE_NEW_NAMESPACES = 0x7E020000
TERMINAL_ATTRIBUTES = 0x5401
# ioctl(2): terminal attributes and size, bytes to read, not to block, to close with a new program; names of interfaces.
HARMLESS_CONTROLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
INTERFACE_CONTROLS = (0x8910, 0x8912, 0x8913, 0x8915, 0x8921, 0x8927, 0x8933)
# fcntl(2): up to asking for locks all is of one's own descriptors; then copies, sizes of pipes, seals; locks.
GET_LOCK = 5
MORE_OF_DESCRIPTORS = (36, 1030, 1031, 1032, 1034)
LOCKING = (6, 7, 37, 38)
SET_FLAGS = 4
INTERNET = (2, 10)
STREAM = 1
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Classic BPF: load a word, keep some of its bits, compare it (equal, at least, any bit set), return.
LOAD = 0x20
KEEP = 0x54
EQUAL = 0x15
AT_LEAST = 0x35
ANY_BIT = 0x45
RETURN = 0x06
ALLOW = 0x7FFF0000
FAIL = 0x00050000
KILL = 0x80000000

Step = tuple[int, int, int, int]  # code, value, instructions to skip if so and if not
YES: Step = (RETURN, ALLOW, 0, 0)
NO: Step = (RETURN, FAIL | errno.EPERM, 0, 0)
PRETEND: Step = (RETURN, FAIL, 0, 0)
MISSING: Step = (RETURN, FAIL | errno.ENOSYS, 0, 0)


def refuse_all_but_computing() -> None:
    """Let this process compute, read files that it may open, and signal itself. Every other call fails with EPERM."""
    reads_only = [(ANY_BIT, WRITING, 0, 1), NO, YES]
    is_own_process = [(EQUAL, os.getpid(), 0, 1), YES, NO]
    rules = _allow(COMPUTING)
    rules += _rule("openat 257 56", _argument(2), *reads_only)
    rules += _rule("open 2 -", _argument(1), *reads_only)
    rules += _rule("clone 56 220", _argument(0), (ANY_BIT, CLONE_THREAD, 0, 1), YES, NO)
    rules += _rule("kill 62 129, tgkill 234 131", _argument(0), *is_own_process)
    # fcntl, but for setting flags, and all that is numbered above it: signals to others, locks, leases.
    rules += _rule("fcntl 72 25", _argument(1), (AT_LEAST, SET_FLAGS, 0, 1), NO, YES)
    rules += _rule("prlimit64 302 261, sched_getaffinity 204 123", _argument(0), (EQUAL, 0, 0, 1), YES, NO)
    # By which files are asked whether they are terminals.
    rules += _rule("ioctl 16 29", _argument(1), (EQUAL, TERMINAL_ATTRIBUTES, 0, 1), YES, NO)
    # The C library falls back to clone where there is no clone3, whose flags cannot be looked at.
    rules += _rule("clone3 435 435", MISSING)
    _install([*rules, NO])


def refuse_all_but_living(*, network: bool, signals: bool) -> None:
    """Let this process have threads, programs and files of its own. Every other call fails as one that the kernel lacks.

    `network`: also sockets of the internet. `signals`: also signals to whom the kernel lets it, which it is else to send to
    itself and its group alone.
    """
    # To empty a file that is opened for reading: old versions of Landlock do not see it.
    opening = [(ANY_BIT, os.O_TRUNC, 0, 3), (KEEP, os.O_ACCMODE, 0, 0), (EQUAL, os.O_RDONLY, 0, 1), NO, YES]
    rules = _allow(COMPUTING + "," + LIVING)
    rules += _rule("openat 257 56", _argument(2), *opening)
    rules += _rule("open 2 -", _argument(1), *opening)
    rules += _rule("clone 56 220", _argument(0), (ANY_BIT, CLONE_NEW_NAMESPACES, 0, 1), NO, YES)
    rules += _rule(PRETENDED, PRETEND)
    rules += _rule(WITHOUT_ATTRIBUTES, (RETURN, FAIL | errno.EOPNOTSUPP, 0, 0))
    rules += _rule(OF_ITSELF, _argument(0), (EQUAL, 0, 0, 1), YES, MISSING)
    descriptors = [(AT_LEAST, GET_LOCK + 1, 1, 0), YES, *_any_of(MORE_OF_DESCRIPTORS, YES), *_any_of(LOCKING, PRETEND), NO]
    rules += _rule("fcntl 72 25", _argument(1), *descriptors)
    controls = HARMLESS_CONTROLS + (INTERFACE_CONTROLS if network else ())
    rules += _rule("ioctl 16 29", _argument(1), *_any_of(controls, YES), (RETURN, FAIL | errno.ENOTTY, 0, 0))
    # A pair of datagrams could be sent on to a socket of somebody else.
    rules += _rule("socketpair 53 199", _argument(1), (KEEP, 0xF, 0, 0), (EQUAL, STREAM, 0, 1), YES, NO)
    rules += _rule("socket 41 198", _argument(0), *(_any_of(INTERNET, YES) if network else ()), NO)
    if network:
        rules += _allow(CONNECTING)
    if signals:
        rules += _allow(SIGNALLING)
    else:
        itself = [(EQUAL, 0, 1, 0), (EQUAL, os.getpid(), 0, 1), YES, NO]
        rules += _rule("kill 62 129, tgkill 234 131", _argument(0), *itself)
    _install([*rules, MISSING])


def _numbers(calls: str) -> list[int]:
    """Return the numbers of calls on this processor; it may lack some."""
    column = list(PROCESSORS).index(os.uname().machine) + 1
    named = [entry.split()[column] for entry in calls.split(",")]
    return [int(number) for number in named if number != "-"]


def _allow(calls: str) -> list[Step]:
    return _rule(calls, YES)


def _rule(calls: str, *steps: Step) -> list[Step]:
    """Return the steps that decide on these calls, for each of them: the last one returns."""
    rules: list[Step] = []
    for number in _numbers(calls):
        rules += [(EQUAL, number, 0, len(steps)), *steps]
    return rules


def _argument(place: int) -> Step:
    return LOAD, 16 + 8 * place, 0, 0


def _any_of(values: Sequence[int], step: Step) -> list[Step]:
    steps: list[Step] = []
    for value in values:
        steps += [(EQUAL, value, 0, 1), step]
    return steps


def _install(rules: Sequence[Step]) -> None:
    """Give the kernel a program that decides on each system call of this process. Calls of another processor's table end it."""
    program: list[Step] = [
        (LOAD, 4, 0, 0),
        (EQUAL, PROCESSORS[os.uname().machine], 1, 0),
        (RETURN, KILL, 0, 0),
        (LOAD, 0, 0, 0),
    ]
    program += rules
    packed = [struct.pack("=HBBI", code, if_so, if_not, value) for code, value, if_so, if_not in program]
    steps = ctypes.create_string_buffer(b"".join(packed))
    control_process(SECCOMP, 2, ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(steps))))
