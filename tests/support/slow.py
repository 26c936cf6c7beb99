"""Which tests are slow: those that start a process, also by helpers. `make test` leaves them to `make test-slow`.

Others are marked where they stand: what a memory of others or a recipe's own SQL does in a process, and simulations.
"""

import inspect
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

# What starts a process, by the name that a test or its helper calls it.
COMMANDS = ("amemgym", "interrupted", "ui_server")
PROCESSES = ("subprocess", "create_subprocess_exec", "multiprocessing", "run_calls", "execute_behaviours")
STARTERS = {*COMMANDS, *PROCESSES}


def is_slow(item: pytest.Item) -> bool:
    """Return True for a test that uses a starter. Fixtures are followed by their names, helpers by their code."""
    if not isinstance(item, pytest.Function):
        return False
    return _names_starter(frozenset({item.originalname, *item.fixturenames}), item.module, item.config.pluginmanager)


@cache
def _names_starter(used: frozenset[str], module: ModuleType, plugins: pytest.PytestPluginManager) -> bool:
    if used & STARTERS:
        return True
    modules = [module, *(plugin for plugin in plugins.get_plugins() if isinstance(plugin, ModuleType))]
    return _uses_starter([vars(module)[name] for module in modules for name in used & vars(module).keys()])


def _uses_starter(due: list[Any]) -> bool:
    seen: set[FunctionType] = set()
    while due:
        value = inspect.unwrap(due.pop())
        if isinstance(value, type) and value.__module__.startswith("tests."):
            due += [method for method in vars(value).values() if isinstance(method, FunctionType)]
        if not isinstance(value, FunctionType) or value in seen or not value.__module__.startswith("tests."):
            continue
        seen.add(value)
        names = _names_in(value.__code__)
        if names & STARTERS:
            return True
        due += [value.__globals__[name] for name in names & value.__globals__.keys()]
    return False


@cache
def _names_in(code: CodeType) -> frozenset[str]:
    """Return the names that the code looks up, also in functions inside of it."""
    inner = [_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_names).union(*inner)
