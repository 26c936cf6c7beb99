"""Stage `code_behaviours`: what functions of a package do, executed twice, with what changed functions do instead."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from assets.code_qa.execution.calls import proposed_calls
from assets.code_qa.execution.mutants import Mutant, mutants_of
from assets.code_qa.execution.sandbox import PROCESSES, CalledFunction, CallReport, run_calls
from assets.code_qa.packages.examples import Arguments
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.symbols import callable_names, function_in, functions_in
from assets.code_qa.records.behaviours import Behaviour, CallResult, CodeBehaviours, NearMiss
from assets.code_qa.records.sources import CallExample, CodeFile, CodeSources
from assets.code_qa.sources import CODE_SOURCES, modules_of
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.recipe.code_qa import BehaviourPolicy, PackageRecipe
from assets.records.answers import normalize_answer
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row
from assets.text.words import words_of

TRIES = 10  # for each call that is kept: most tried ones raise, or come to what others came to
MOST_MUTANTS = 8  # of one function; each is a process
LONG_FRACTION = re.compile(r"\d\.\d{7}|e-?\d")
# Seeds of hashes: what depends on the order of a set differs between the two executions.
FIRST_SEED = 1
SECOND_SEED = 2


async def execute_behaviours(sources: CodeSources, *, recipe: PackageRecipe, model: LanguageModel) -> CodeBehaviours:
    """Return the behaviours of the question's functions. Raises ItemFailed where there are too few."""
    policy = recipe.behaviours
    tried = 0
    left_out = Counter[str]()
    by_symbol: dict[str, tuple[Behaviour, ...]] = {}
    for module in modules_of(sources.targets):
        found = await _of_module(module, sources, policy=policy, seed=recipe.world_seed)
        tried += found.tried
        left_out += found.left_out
        by_symbol.update(found.by_symbol)
    behaviours: list[Behaviour] = []
    for target in sources.targets:
        behaviours += by_symbol.get(target, ())
    if len(behaviours) < policy.min_behaviours:
        raise ItemFailed(
            "rule_violated",
            f"{len(behaviours)} calls of {sources.package.name} came to something that can be asked for, and behaviours."
            f"min_behaviours is {policy.min_behaviours}.",
        )
    return CodeBehaviours(
        task_id=sources.task_id, behaviours=tuple(behaviours), tried=tried, left_out=dict(sorted(left_out.items()))
    )


class _ModuleBehaviours(NamedTuple):
    """A module's behaviours by function, how many calls were tried, and why others were left out."""

    by_symbol: dict[str, tuple[Behaviour, ...]]
    tried: int
    left_out: Counter[str]


async def _of_module(module: str, sources: CodeSources, *, policy: BehaviourPolicy, seed: int) -> _ModuleBehaviours:
    """Return the behaviours of all the module's functions, which are the same for every question about its package."""
    examples = tuple(example for example in sources.examples if example.symbol_id.rpartition(".")[0] == module)
    future = _submit_execution(module, files_taken([module], sources.files), examples, policy.model_dump_json(), seed)
    try:
        # Other questions wait for the same execution, so that one of them that is given up must not end it.
        return await asyncio.shield(asyncio.wrap_future(future))
    except OSError:
        _submit_execution.cache_clear()  # a full disk, say, which need not be full at the next try
        raise


@lru_cache(maxsize=256)
def _submit_execution(
    module: str, files: tuple[CodeFile, ...], examples: tuple[CallExample, ...], policy_json: str, seed: int
) -> "Future[_ModuleBehaviours]":
    policy = BehaviourPolicy.model_validate_json(policy_json)
    file = next(candidate for candidate in files if candidate.module == module)
    return PROCESSES.submit(_ModuleExecution(file, files, examples, policy, seed).behaviours)


@dataclass
class _ExecutedCall:
    """A call, its reports of both executions, and what it gave in changed functions."""

    arguments: Arguments
    report: CallReport
    again: CallReport
    near_misses: list[NearMiss] = field(default_factory=list[NearMiss])

    @property
    def result(self) -> CallResult:
        outcome = "returns" if self.report.status == "returns" else "raises"
        return CallResult(outcome=outcome, text=self.report.text, traceback=self.report.traceback)

    def problem(self, policy: BehaviourPolicy) -> str:
        """Return why it cannot be asked for; empty where it can."""
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


@dataclass(frozen=True)
class _ModuleExecution:
    """Executes the functions of one file; `files` are those that it takes, `examples` the calls that the package shows."""

    file: CodeFile
    files: tuple[CodeFile, ...]
    examples: tuple[CallExample, ...]
    policy: BehaviourPolicy
    seed: int
    left_out: Counter[str] = field(default_factory=Counter[str])

    def behaviours(self) -> _ModuleBehaviours:
        """Call every function both ways and then changed ones, and choose what is kept. Blocks until all are made."""
        calls = {name: self._propose_calls(name) for name in callable_names(self.file)}
        kept: dict[str, list[_ExecutedCall]] = {}
        for name, executed in self._called_both_ways(calls).items():
            kept[name] = _different(self._sound(executed), most=2 * self.policy.calls_per_target)
        self._call_mutants(kept)
        by_symbol: dict[str, tuple[Behaviour, ...]] = {}
        for name, executed in kept.items():
            symbol_id = f"{self.file.module}.{name}"
            by_symbol[symbol_id] = self._behaviours_of(symbol_id, executed)
        tried = sum(map(len, calls.values()))
        num_kept = sum(map(len, by_symbol.values()))
        self.left_out["like another one"] = tried - num_kept - self.left_out.total()
        return _ModuleBehaviours(by_symbol, tried, +self.left_out)

    def _propose_calls(self, name: str) -> list[Arguments]:
        """Return calls to try that are short enough to be told in a sentence."""
        rng = SeededRandom(self.seed, "calls", self.file.content, name)
        most = TRIES * self.policy.calls_per_target
        symbol_id = f"{self.file.module}.{name}"
        shown = [example.arguments for example in self.examples if example.symbol_id == symbol_id]
        function = function_in(self.file, name)
        short: list[Arguments] = []
        for arguments in proposed_calls(function, module=self.file.module, shown=shown, most=most, rng=rng):
            if len(f"{symbol_id}({', '.join(arguments)})") <= self.policy.max_call_characters:
                short.append(arguments)
        return short

    def _called_both_ways(self, calls: Mapping[str, list[Arguments]]) -> dict[str, list[_ExecutedCall]]:
        """Call all functions twice, the second time the other way round: what depends on calls before it differs."""
        first: list[CalledFunction] = []
        second: list[CalledFunction] = []
        for name, own in calls.items():
            first.append(self._describe_function(name, own))
            # Of an odd number the first one is called once more in front, so that none is at the same place.
            second.insert(0, self._describe_function(name, [*own[: len(own) % 2], *reversed(own)]))
        reports = self._run(first, hash_seed=FIRST_SEED)
        reports_again = self._run(second, hash_seed=SECOND_SEED)
        executed: dict[str, list[_ExecutedCall]] = {}
        for (name, own), ahead, back in zip(calls.items(), reports, reversed(reports_again), strict=True):
            again = back[::-1][: len(own)]
            executed[name] = [_ExecutedCall(*each) for each in zip(own, ahead, again, strict=True)]
        return executed

    def _describe_function(self, name: str, calls: Iterable[Arguments], *, source: str = "") -> CalledFunction:
        return CalledFunction(module=self.file.module, name=name, calls=tuple(calls), source=source)

    def _run(self, functions: Sequence[CalledFunction], *, hash_seed: int) -> list[list[CallReport]]:
        return run_calls(functions, files=self.files, limits=self.policy.limits, hash_seed=hash_seed)

    def _sound(self, executed: Iterable[_ExecutedCall]) -> list[_ExecutedCall]:
        """Return the calls that can be asked for, and count why others cannot."""
        sound: list[_ExecutedCall] = []
        for call in executed:
            problem = call.problem(self.policy)
            if problem:
                self.left_out[problem] += 1
            else:
                sound.append(call)
        return sound

    def _call_mutants(self, kept: Mapping[str, list[_ExecutedCall]]) -> None:
        """Add to each call what it gives when a place that the calls came by is changed, in its function or in a helper."""
        changed: list[CalledFunction] = []
        changes: list[tuple[list[_ExecutedCall], str]] = []
        for name, executed in kept.items():
            for mutant in self._chosen_mutants(name, executed):
                changed.append(self._describe_function(name, (call.arguments for call in executed), source=mutant.source))
                changes.append((executed, mutant.change))
        for (executed, change), reports in zip(changes, self._run(changed, hash_seed=FIRST_SEED), strict=True):
            for one, report in zip(executed, reports, strict=True):
                if report.status == "returns" and _is_plain(report.text, most=2 * self.policy.max_result_characters):
                    result = CallResult(outcome="returns", text=report.text)
                    one.near_misses.append(NearMiss(result=result, change=change))

    def _chosen_mutants(self, name: str, executed: Iterable[_ExecutedCall]) -> list[Mutant]:
        """Return some of the function's own mutants, and then of its helpers' in the same file."""
        lines: set[int] = set()
        for call in executed:
            lines.update(call.report.lines)
        own = _mutants_in(lines, mutants_of(function_in(self.file, name)))
        of_helpers: list[Mutant] = []
        for function in functions_in(self.file):
            body = range(function.lineno + 1, (function.end_lineno or 0) + 1)
            if function.name != name and not lines.isdisjoint(body):
                of_helpers += _mutants_in(lines, mutants_of(function))
        rng = SeededRandom(self.seed, "mutants", self.file.content, name)
        return [*rng.sample(own, MOST_MUTANTS), *rng.sample(of_helpers, MOST_MUTANTS // 2)]

    def _behaviours_of(self, symbol_id: str, executed: Iterable[_ExecutedCall]) -> tuple[Behaviour, ...]:
        """Return the behaviours that are kept, in the order in which they came; those with near misses go first."""
        found = [self._behaviour(symbol_id, call) for call in executed]
        numbers = sorted(range(len(found)), key=lambda number: not found[number].near_misses)
        kept = sorted(numbers[: self.policy.calls_per_target])
        return tuple(map(found.__getitem__, kept))

    def _behaviour(self, symbol_id: str, call: _ExecutedCall) -> Behaviour:
        """Return the call with near misses that are other answers than its result and than each other."""
        seen = {normalize_answer("code", call.result.answer)}
        distinct: list[NearMiss] = []
        for miss in call.near_misses:
            answer = normalize_answer("code", miss.result.answer)
            if answer not in seen:
                seen.add(answer)
                distinct.append(miss)
        return Behaviour(
            behaviour_id=hashlib.sha256("\x1f".join((symbol_id, *call.arguments)).encode()).hexdigest()[:12],
            symbol_id=symbol_id,
            arguments=call.arguments,
            result=call.result,
            near_misses=tuple(distinct[: self.policy.near_misses]),
        )


def _mutants_in(lines: set[int], mutants: Iterable[Mutant]) -> list[Mutant]:
    return [mutant for mutant in mutants if mutant.line in lines]


def _is_plain(text: str, *, most: int) -> bool:
    """Return True for a short literal of one line whose characters are all seen, without digits that a processor decides."""
    if len(text) > most or not text.isprintable():
        return False
    return "\\n" not in text and "\\x" not in text and not LONG_FRACTION.search(text)


def _says_nothing(result: CallResult, arguments: Arguments) -> bool:
    """Return True for a result that has no words, or those of what was given alone."""
    words = words_of(result.text)
    given = map(words_of, (*arguments, " ".join(arguments)))
    return not words or result.text == "None" or words in given


def _different(executed: Sequence[_ExecutedCall], *, most: int) -> list[_ExecutedCall]:
    """Return calls with results that no other call has before others; truth values and exceptions are the last of each.

    They stay in the order in which they came.
    """
    seen: Counter[str] = Counter()
    ranks: list[tuple[int, int]] = []
    for number, call in enumerate(executed):
        text = call.result.text
        rank = seen[text]
        if call.report.status != "returns" or text in ("True", "False"):
            rank += 2
        ranks.append((rank, number))
        seen[text] += 1
    chosen = sorted(ranks)[:most]
    chosen.sort(key=lambda rank: rank[1])
    return [executed[number] for _, number in chosen]


def _rows(behaviours: CodeBehaviours) -> list[Row]:
    rows: list[Row] = []
    for behaviour in behaviours.behaviours:
        near_misses = ", ".join(miss.result.text for miss in behaviour.near_misses)
        rows.append({"call": behaviour.call, "result": behaviour.result.text, "near misses": near_misses})
    return rows


CODE_BEHAVIOURS = Stage(
    name="code_behaviours",
    record=CodeBehaviours,
    make=execute_behaviours,
    version=2,
    needs=(CODE_SOURCES,),
    description=AssetDescription(
        group="code",
        description="What functions of a question's package do: calls with literals, executed twice in a sandbox, the same "
        "both times. Functions that are changed in one place give near misses.",
        rows=_rows,
        paper="MemGym",
    ),
)
