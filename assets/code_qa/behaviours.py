"""Stage `code_behaviours`: what functions of a package do, executed twice, with what changed functions do instead."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import NamedTuple

from assets.code_qa.execution.calls import proposed_calls
from assets.code_qa.execution.mutants import Mutant, mutants_of
from assets.code_qa.execution.sandbox import PROCESSES, CalledFunction, CallReport, run_calls
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.symbols import callable_names, function_in, functions_in
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import Behaviour, BehaviourPolicy, CallResult, CodeBehaviours, NearMiss
from assets.code_qa.records.sources import CodeFile, CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.text import words_of
from assets.memory_items.answers import normalized
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

TRIES = 10  # for each call that is kept
MOST_MUTANTS = 8  # of one function
LONG_FRACTION = re.compile(r"\d\.\d{7}|e-?\d")
# Seeds of hashes: what depends on the order of a set differs between the two executions.
FIRST_SEED, SECOND_SEED = 1, 2


async def execute_behaviours(sources: CodeSources, *, recipe: CodeQaRecipe, model: LanguageModel) -> CodeBehaviours:
    """The behaviours of the question's functions. Raises ItemFailed where there are too few."""
    policy = recipe.behaviours
    modules = list(dict.fromkeys(target.rpartition(".")[0] for target in sources.targets))
    found = [await _of_module(module, sources.files, policy=policy, seed=recipe.seed) for module in modules]
    by_symbol = {symbol: kept for one in found for symbol, kept in one.by_symbol.items()}
    behaviours = [behaviour for target in sources.targets for behaviour in by_symbol.get(target, ())]
    if len(behaviours) < policy.min_behaviours:
        raise ItemFailed(
            "rule_violated",
            f"{len(behaviours)} calls of {sources.package.name} came to something that can be asked for, and behaviours."
            f"min_behaviours is {policy.min_behaviours}.",
        )
    left_out = sum((one.left_out for one in found), Counter[str]())
    return CodeBehaviours(
        task_id=sources.task_id,
        behaviours=tuple(behaviours),
        tried=sum(one.tried for one in found),
        left_out=dict(sorted(left_out.items())),
    )


class _Module(NamedTuple):
    """What was found of a module: behaviours by function, how many calls were tried, why others were left out."""

    by_symbol: dict[str, tuple[Behaviour, ...]]
    tried: int
    left_out: Counter[str]


async def _of_module(module: str, files: Sequence[CodeFile], *, policy: BehaviourPolicy, seed: int) -> _Module:
    """The behaviours of all the module's functions, which are the same for every question about its package."""
    future = _executed(module, files_taken([module], files), policy.model_dump_json(), seed)
    try:
        # Other questions wait for the same execution, so that one of them that is given up must not end it.
        return await asyncio.shield(asyncio.wrap_future(future))
    except OSError:
        _executed.cache_clear()  # a full disk, say, which need not be full at the next try
        raise


@lru_cache(maxsize=256)
def _executed(module: str, files: tuple[CodeFile, ...], policy_json: str, seed: int) -> "Future[_Module]":
    policy = BehaviourPolicy.model_validate_json(policy_json)
    return PROCESSES.submit(_execute_module, module, files, policy, seed)


def _execute_module(module: str, files: Sequence[CodeFile], policy: BehaviourPolicy, seed: int) -> _Module:
    file = next(one for one in files if one.module == module)
    names = callable_names(file)
    calls = {
        name: _short(
            f"{module}.{name}",
            proposed_calls(function_in(file, name), most=TRIES * policy.calls_per_target, rng=_rng(seed, file, name)),
            policy,
        )
        for name in names
    }
    first = [CalledFunction(module=module, name=name, calls=tuple(calls[name])) for name in names]
    # The other way round, and none at the same place: what depends on calls before it differs, too.
    second = [one.model_copy(update={"calls": (*one.calls[: len(one.calls) % 2], *one.calls[::-1])}) for one in reversed(first)]
    reports = run_calls(first, files=files, limits=policy.limits, hash_seed=FIRST_SEED)
    again = [
        one[::-1][: len(calls[name])]
        for name, one in zip(
            names, run_calls(second, files=files, limits=policy.limits, hash_seed=SECOND_SEED)[::-1], strict=True
        )
    ]
    left_out = Counter[str]()
    kept: dict[str, list[_Executed]] = {}
    for name, one, other in zip(names, reports, again, strict=True):
        executed = [_Executed(*each) for each in zip(calls[name], one, other, strict=True)]
        sound = [each for each in executed if not _counted(each.problem(policy), left_out)]
        kept[name] = _different(sound, most=2 * policy.calls_per_target)
    near = _near_misses(file, kept, files=files, policy=policy, seed=seed)
    found = {name: list(_behaviours(f"{module}.{name}", own, near[name], policy)) for name, own in kept.items()}
    by_symbol = {f"{module}.{name}": _with_near_misses_first(own, most=policy.calls_per_target) for name, own in found.items()}
    tried = sum(map(len, calls.values()))
    left_out["like another one"] = tried - sum(map(len, by_symbol.values())) - left_out.total()
    return _Module(by_symbol, tried, +left_out)


def _with_near_misses_first(behaviours: Sequence[Behaviour], *, most: int) -> tuple[Behaviour, ...]:
    """Those of which changed functions give something else, before others, in the order in which they came."""
    chosen = sorted(behaviours, key=lambda one: not one.near_misses)[:most]
    return tuple(one for one in behaviours if one in chosen)


class _Executed(NamedTuple):
    """A call and what came of it both times."""

    arguments: tuple[str, ...]
    report: CallReport
    again: CallReport

    @property
    def result(self) -> CallResult:
        return CallResult(outcome="returns" if self.report.status == "returns" else "raises", text=self.report.text)

    def problem(self, policy: BehaviourPolicy) -> str:
        """Why it cannot be asked for; empty where it can."""
        report = self.report
        if report.model_copy(update={"lines": ()}) != self.again.model_copy(update={"lines": ()}):
            return "not the same twice"
        if report.status == "raises":
            return "" if report.own else "called in a wrong way"
        if report.status != "returns":
            return report.status.replace("_", " ")
        if not _is_plain(report.text, most=policy.max_result_characters):
            return "not plain"
        return "says nothing" if _says_nothing(self.result, self.arguments) else ""


def _is_plain(text: str, *, most: int) -> bool:
    """Whether a literal is short, of one line, without characters that are not seen, or digits that a processor decides."""
    return (
        len(text) <= most and text.isprintable() and "\\n" not in text and "\\x" not in text and not LONG_FRACTION.search(text)
    )


def _says_nothing(result: CallResult, arguments: Sequence[str]) -> bool:
    """Whether a result has no words, or those of what was given alone."""
    words = words_of(result.text)
    return not words or result.text == "None" or words in [words_of(one) for one in (*arguments, " ".join(arguments))]


def _counted(problem: str, left_out: Counter[str]) -> str:
    left_out[problem] += bool(problem)
    return problem


def _short(function: str, calls: Sequence[tuple[str, ...]], policy: BehaviourPolicy) -> list[tuple[str, ...]]:
    """The calls that are short enough to be told in a sentence."""
    return [call for call in calls if len(f"{function}({', '.join(call)})") <= policy.max_call_characters]


def _different(executed: Sequence[_Executed], *, most: int) -> list[_Executed]:
    """Calls with results that no other call has first, then others; truth values and exceptions are the last of each."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int, _Executed]] = []
    for number, one in enumerate(executed):
        plain = one.report.status == "returns" and one.result.text not in ("True", "False")
        ranked.append((seen[one.result.text] + (0 if plain else 2), number, one))
        seen[one.result.text] += 1
    chosen = sorted(ranked, key=lambda each: each[:2])[:most]
    return [one for _, _, one in sorted(chosen, key=lambda each: each[1])]


def _near_misses(
    file: CodeFile, kept: dict[str, list[_Executed]], *, files: Sequence[CodeFile], policy: BehaviourPolicy, seed: int
) -> dict[str, list[list[NearMiss]]]:
    """What each kept call of each function gives when a place that the calls came by is changed, in it or in a helper."""
    jobs = [(name, mutant) for name, own in kept.items() for mutant in _chosen_mutants(file, name, own, seed=seed)]
    changed = [
        CalledFunction(module=file.module, name=name, calls=tuple(one.arguments for one in kept[name]), source=mutant.source)
        for name, mutant in jobs
    ]
    reports = run_calls(changed, files=files, limits=policy.limits, hash_seed=FIRST_SEED)
    found: dict[str, list[list[NearMiss]]] = {name: [[] for _ in own] for name, own in kept.items()}
    for (name, mutant), own in zip(jobs, reports, strict=True):
        for misses, report in zip(found[name], own, strict=True):
            if report.status == "returns" and _is_plain(report.text, most=2 * policy.max_result_characters):
                misses.append(NearMiss(result=CallResult(outcome="returns", text=report.text), change=mutant.change))
    return found


def _chosen_mutants(file: CodeFile, name: str, executed: Sequence[_Executed], *, seed: int) -> list[Mutant]:
    """Some of the function's own mutants, and then of its helpers' in the same file."""
    lines = {line for one in executed for line in one.report.lines}
    rng = SeededRandom(seed, "mutants", file.content, name)
    own = [one for one in mutants_of(function_in(file, name)) if one.line in lines]
    helpers = [
        one
        for function in functions_in(file)
        if function.name != name and not lines.isdisjoint(range(function.lineno + 1, (function.end_lineno or 0) + 1))
        for one in mutants_of(function)
        if one.line in lines
    ]
    return [*rng.sample(own, MOST_MUTANTS), *rng.sample(helpers, MOST_MUTANTS // 2)]


def _behaviours(
    symbol_id: str, kept: Sequence[_Executed], near: Sequence[Sequence[NearMiss]], policy: BehaviourPolicy
) -> Iterator[Behaviour]:
    for one, misses in zip(kept, near, strict=True):
        yield Behaviour(
            behaviour_id=hashlib.sha256("\x1f".join((symbol_id, *one.arguments)).encode()).hexdigest()[:12],
            symbol_id=symbol_id,
            arguments=one.arguments,
            result=one.result,
            near_misses=tuple(_distinct(misses, one.result)[: policy.near_misses]),
        )


def _distinct(misses: Sequence[NearMiss], truth: CallResult) -> list[NearMiss]:
    """Near misses that are other answers than the truth and than each other."""
    seen = {normalized("code", truth.answer)}
    found: list[NearMiss] = []
    for miss in misses:
        answer = normalized("code", miss.result.answer)
        if answer not in seen:
            seen.add(answer)
            found.append(miss)
    return found


def _rng(seed: int, file: CodeFile, name: str) -> SeededRandom:
    return SeededRandom(seed, "calls", file.content, name)


def _rows(behaviours: CodeBehaviours) -> list[Row]:
    return [
        {
            "call": one.call,
            "result": one.result.text,
            "near misses": ", ".join(miss.result.text for miss in one.near_misses),
        }
        for one in behaviours.behaviours
    ]


CODE_BEHAVIOURS = Stage(
    name="code_behaviours",
    record=CodeBehaviours,
    make=execute_behaviours,
    needs=(CODE_SOURCES,),
    description=AssetDescription(
        group="code",
        description="What functions of a question's package do: calls with literals, executed twice in a sandbox, the same "
        "both times. Functions that are changed in one place give near misses.",
        rows=_rows,
        paper="MemGym",
    ),
)
