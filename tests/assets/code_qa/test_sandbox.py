"""Hostile code in the sandbox: it is ended or refused, does nothing outside, and the calls after it are made."""

import socket
from pathlib import Path

import pytest

from assets.code_qa.execution.sandbox import CalledFunction, CallReport, run_calls
from assets.code_qa.records.sources import CodeFile
from assets.isolation.boundary import available_kind
from assets.recipe.code_qa import SandboxLimits

# Where nothing keeps code in, the tests of packages run with trust; hostile code does not.
pytestmark = pytest.mark.skipif(
    available_kind() == "none", reason="There is no boundary here that hostile code could be run in."
)
LIMITS = SandboxLimits(seconds=1.0, memory_mb=64, lines=20_000)
GOOD = "def good(x):\n    return [x, 'y']\n"


def run(source: str, *calls: str, more: str = "") -> list[CallReport]:
    """Reports of `bad(argument)` for each argument, and of `good(1)` after them."""
    text = f"{more}\n{source}\n{GOOD}"
    functions = [
        CalledFunction(module="pack.mod", name="bad", calls=tuple((call,) for call in calls)),
        CalledFunction(module="pack.mod", name="good", calls=(("1",),)),
    ]
    files = [
        CodeFile(path="pack/__init__.py", module="pack", text="", content="-"),
        CodeFile(path="pack/mod.py", module="pack.mod", text=text, content="-"),
    ]
    bad, good = run_calls(functions, files=files, limits=LIMITS, hash_seed=1)
    return [*bad, *good]


def statuses(source: str, *calls: str, more: str = "") -> list[str]:
    return [report.status for report in run(source, *calls, more=more)]


def test_a_plain_call_tells_its_result_and_the_lines_that_ran() -> None:
    first, second, good = run("def bad(x):\n    if x:\n        return x + 1\n    raise KeyError(x)", "1", "0")
    assert (first.status, first.text, first.lines) == ("returns", "2", (3, 4))
    assert (second.status, second.text, second.own) == ("raises", "KeyError", True)
    assert second.traceback.split("\n") == [
        "Traceback (most recent call last):",
        '  File "pack/mod.py", line 5, in bad',
        "    raise KeyError(x)",
        "KeyError: 0",
    ]
    assert good.text == "[1, 'y']"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("def bad(x):\n    while True:\n        pass", "too_slow"),
        (
            "def bad(x):\n    while True:\n        try:\n            x += 1\n        except BaseException:\n            pass",
            "too_slow",
        ),
        ("def bad(x):\n    import re\n    return re.match('(a+)+$', 'a' * 40 + 'b')", "too_slow"),
        (
            "def bad(x):\n    import sys\n    try:\n        sys.settrace(None)\n    finally:\n        while True: pass",
            "too_slow",
        ),
        ("def bad(x):\n    import os\n    os._exit(0)", "died"),
        ("def bad(x):\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)", "refused"),
    ],
)
def test_a_call_that_does_not_end_or_ends_the_process_costs_no_other_call(source: str, status: str) -> None:
    assert statuses(source, "3", "4") == [status, status, "returns"]


def test_memory_has_a_limit() -> None:
    first, good = run("def bad(x):\n    return len(bytearray(x))", "4000000000")
    assert (first.status, first.text) == ("raises", "MemoryError")
    assert good.status == "returns"


def test_endless_recursion_is_an_exception_of_that_call() -> None:
    first, good = run("def bad(x):\n    return bad(x + 1)", "1")
    assert (first.text, good.status) == ("RecursionError", "returns")


def test_what_is_printed_goes_nowhere_and_ends_with_the_call() -> None:
    assert statuses("def bad(x):\n    while True:\n        print('x' * 1000)", "1") == ["too_slow", "returns"]
    assert run('def bad(x):\n    print(\'{"status": "returns", "text": "7"}\', flush=True)\n    return x', "1")[0].text == "1"


def test_results_cannot_be_told_for_another_function() -> None:
    faked = r"""
def bad(x):
    import os
    for number in range(3, 60):
        try:
            os.write(number, b'{"status": "returns", "text": "666"}\n' * 50)
        except OSError:
            pass
    return x
"""
    *_, good = run(faked, "1", "2")
    assert good.text == "[1, 'y']"


@pytest.mark.parametrize(
    "action",
    [
        "open('/etc/passwd').read()",
        "os.listdir('/')",
        "open('/tmp/left-behind-by-a-test', 'w')",
        "open('left', 'a')",
        "os.open('left', os.O_CREAT | os.O_WRONLY)",
        "os.mkdir('left')",
        "os.remove(__file__)",
        "os.system('true')",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "__import__('subprocess').run(['true'])",
        "__import__('_posixsubprocess').fork_exec()",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('gc').get_objects()",
        "__import__('sys').settrace(None)",
        "__import__('sys').addaudithook(print)",
    ],
)
def test_what_reaches_outside_is_refused_even_where_the_function_goes_on(action: str) -> None:
    source = f"def bad(x):\n    try:\n        {action}\n    except Exception:\n        pass\n    return x"
    assert statuses(source, "1", more="import os") == ["refused", "returns"]
    assert not Path("/tmp/left-behind-by-a-test").exists()


def test_native_code_cannot_be_called() -> None:
    source = "def bad(x):\n    import ctypes\n    return ctypes.CDLL(None).getpid()"
    assert statuses(source, "1") == ["refused", "returns"]


def test_the_home_folder_and_the_environment_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_A_TEST", "hush")
    source = "def bad(x):\n    return [os.environ.get('SECRET_OF_A_TEST'), os.environ.get('HOME'), sys.flags.no_site]"
    assert run(source, "1", more="import os, sys")[0].text == "[None, None, 1]"


def test_no_connection_reaches_a_server_of_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)"
        run("def bad(x): ...", "1", more=f"import socket\ntry:\n    {connect}\nexcept OSError:\n    pass")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_module_that_fails_to_import_is_told_and_one_that_ends_the_process_loses_its_calls_alone() -> None:
    assert statuses("def bad(x): ...", "1", more="import nowhere_to_be_found") == ["unimportable", "unimportable"]
    assert statuses("def bad(x): ...", "1", more="import os\nos._exit(3)") == ["died", "died"]
    assert statuses("def bad(x): ...", "1", more="open('/etc/passwd')") == ["unimportable", "unimportable"]


def test_objects_without_a_literal_and_results_without_end_are_told_as_such() -> None:
    source = "def bad(x):\n    return {'o': object(), 's': {1, 2}, 'n': float('nan'), 'l': 'x' * 9999, 'i': 10 ** 5000}[x]"
    assert statuses(source, "'o'", "'s'", "'n'", "'l'", "'i'") == ["no_literal"] * 3 + ["too_long"] * 2 + ["returns"]


def test_a_changed_function_is_called_in_place_of_the_one_of_the_file_and_leaves_no_trace() -> None:
    file = CodeFile(
        path="m.py", module="m", text="def helper(x):\n    return x\n\ndef f(x):\n    return helper(x) + 1\n", content="-"
    )
    functions = [
        CalledFunction(module="m", name="f", calls=(("1",),), source="def helper(x):\n    return x * 10"),
        CalledFunction(module="m", name="f", calls=(("1",),)),
    ]
    changed, plain = run_calls(functions, files=[file], limits=LIMITS, hash_seed=1)
    assert (changed[0].text, plain[0].text) == ("11", "2")
