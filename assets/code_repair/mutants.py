"""Stage `cr_mutants`: a seeded fault whose failing call is found by running, two patches, and the sessions to be told."""

import ast
import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from assets.code_qa.behaviours import execute_behaviours
from assets.code_qa.execution.mutants import mutants_of
from assets.code_qa.execution.sandbox import PROCESSES, CalledFunction, CallReport, run_calls
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.reading import text_digest
from assets.code_qa.packages.symbols import function_in
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeFile, CodeSources
from assets.code_qa.team.world import tellable
from assets.code_repair.copy import HASH_SEED, assertion, graded_call
from assets.code_repair.records import HiddenCall, Patch, Repair, SeededFault
from assets.code_repair.sources import CR_SOURCES
from assets.code_repair.team import RepairWorld, is_told
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.clusters import make_cluster
from assets.recipe.code_qa import SandboxLimits
from assets.recipe.code_repair import CodeRepairRecipe
from assets.records.answers import normalized
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

MOST_MUTANTS = 40  # of one function; each is a process
MOST_FORMS = 6  # that are compared for one call
MOST_LINES = 12  # of a patch
FEWEST_HIDDEN = 2


async def seed_fault(sources: CodeSources, *, recipe: CodeRepairRecipe, model: LanguageModel) -> SeededFault:
    """Return a fault with two patches of which a team settled on one. Raises ItemFailed where none is found by running."""
    behaviours = (await execute_behaviours(sources, recipe=recipe, model=model)).behaviours
    rng = SeededRandom(recipe.world_seed, sources.task_id, "fault")
    limits = recipe.behaviours.limits.model_dump_json()
    equivalent = 0
    for function in rng.shuffled(sorted({one.symbol_id for one in behaviours})):
        own = [one for one in behaviours if one.symbol_id == function]
        ran = await _ran_forms(function, own, sources.files, limits, recipe.world_seed)
        equivalent += ran.equivalent
        found = _FaultSearch(sources, function, own, limits, rng).found(ran.forms)
        if found is None:
            continue
        told = tuple(one for one in behaviours if one.symbol_id != function or one.arguments in found.undisputed)
        world = RepairWorld(sources, found.repair, told, code_vocabulary(sources, recipe.packages))
        try:
            cluster = make_cluster(world, 1, path=(recipe.world_seed, sources.task_id, "rules"), operation="act")
        except LookupError:
            continue
        return SeededFault(
            task_id=sources.task_id,
            repair=found.repair,
            equivalent=equivalent,
            rival_first=sources.rival_first,
            behaviours=told,
            chain=cluster.chain,
            plans=cluster.plans,
        )
    raise ItemFailed("rule_violated", f"No function of {sources.package.name} has a fault with two repairs that differ.")


class _Form(NamedTuple):
    """A form of a function, and what its calls come to: returns or raises, and the literal or the exception's name."""

    source: str
    reports: Sequence[CallReport]

    def told(self) -> list[tuple[str, str]]:
        return [(one.status, one.text) for one in self.reports]


class _RanForms(NamedTuple):
    """The function as it is first, then changed forms of which a call comes to something else; others are counted."""

    forms: Sequence[_Form]
    equivalent: int


async def _ran_forms(
    function: str, behaviours: Sequence[Behaviour], files: Sequence[CodeFile], limits: str, seed: int
) -> _RanForms:
    """Return the forms of a function, which are the same for every task of its package, and are run once."""
    taken = files_taken([function.rpartition(".")[0]], files)
    future = _running(function, tuple(one.arguments for one in behaviours), taken, limits, seed)
    try:
        # Other tasks wait for the same calls, so that one of them that is given up must not end them.
        return await asyncio.shield(asyncio.wrap_future(future))
    except OSError:
        _running.cache_clear()  # a full disk, say, which need not be full at the next try
        raise


@lru_cache(maxsize=512)
def _running(
    function: str, calls: tuple[tuple[str, ...], ...], files: tuple[CodeFile, ...], limits: str, seed: int
) -> "Future[_RanForms]":
    return PROCESSES.submit(_run_forms, function, calls, files, limits, seed)


def _run_forms(
    function: str, calls: tuple[tuple[str, ...], ...], files: tuple[CodeFile, ...], limits: str, seed: int
) -> _RanForms:
    """Run the function as it is and changed in one place. Blocks until all calls are made."""
    module, _, name = function.rpartition(".")
    file = next(one for one in files if one.module == module)
    node = function_in(file, name)
    if node.decorator_list:
        return _RanForms((), 0)
    rng = SeededRandom(seed, "forms", file.content, name)
    changed = rng.sample(mutants_of(node, calls=True), MOST_MUTANTS)
    sources = [ast.unparse(node), *(one.source for one in changed)]
    called: list[CalledFunction] = []
    for source in sources:
        called.append(CalledFunction(module=module, name=name, calls=calls, source=source, own_globals=True))
    reports = run_calls(called, files=files, limits=SandboxLimits.model_validate_json(limits), hash_seed=HASH_SEED)
    first, *mutants = [_Form(*each) for each in zip(sources, reports, strict=True)]
    different = [one for one in mutants if one.told() != first.told()]
    usable: list[_Form] = []
    for form in (first, *different):
        if all(report.status in ("returns", "raises") for report in form.reports):
            usable.append(form)
    return _RanForms(usable, len(mutants) - len(different))


class _FoundRepair(NamedTuple):
    """A repair, and the calls that come to the same with the fault and both patches."""

    repair: Repair
    undisputed: frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class _FaultSearch:
    """Looks for a call that three forms of a function answer differently: the fault, and both patches."""

    sources: CodeSources
    function: str
    behaviours: Sequence[Behaviour]
    limits: str
    rng: SeededRandom

    def found(self, forms: Sequence[_Form]) -> _FoundRepair | None:
        """Return a repair of these forms; None where no call tells three of them apart."""
        for number, fault, patched, other in self._choices(forms):
            repair = self._repair(number, fault, patched, other)
            if repair is not None:
                agreed: set[tuple[str, ...]] = set()
                for one, *told in zip(self.behaviours, fault.told(), patched.told(), other.told(), strict=True):
                    if len(set(told)) == 1:
                        agreed.add(one.arguments)
                return _FoundRepair(repair, frozenset(agreed - {repair.arguments}))
        return None

    def _choices(self, forms: Sequence[_Form]) -> Iterator[tuple[int, _Form, _Form, _Form]]:
        """Yield a call's number with a fault, the settled form and the other one: three ends, in seeded order.

        The call may raise with the fault; with a patch it returns something that a session can tell.
        """
        # The same calls as those of other rules, so that no rule is known by what it looks like.
        told = tellable(self.behaviours)
        numbers = [number for number, one in enumerate(self.behaviours) if one in told and one.result.outcome == "returns"]
        for number in self.rng.shuffled(numbers):
            by_end: dict[tuple[str, str], _Form] = {}
            for form in self.rng.shuffled(list(forms)):
                by_end.setdefault(form.told()[number], form)
            chosen = self.rng.sample(list(by_end.values()), MOST_FORMS)
            for fault, patched, other in permutations(chosen, 3):
                if self._rule(number, patched) and self._rule(number, other):
                    yield number, fault, patched, other

    def _rule(self, number: int, form: _Form) -> str:
        """Return what the call comes to as an assertion; "" for one that no session tells."""
        report = form.reports[number]
        rule = assertion(self.function, self.behaviours[number].arguments, report.text)
        return rule if report.status == "returns" and is_told(rule) else ""

    def _repair(self, number: int, fault: _Form, patched: _Form, other: _Form) -> Repair | None:
        """Return the repair; None where a patch is no short change of one place, or both rules read the same."""
        module, _, name = self.function.rpartition(".")
        files = files_taken([module], self.sources.files)
        file = next(one for one in files if one.module == module)
        node = function_in(file, name)
        lines = file.text.split("\n")
        before = lines[: node.lineno - 1]
        after = lines[node.end_lineno or node.lineno :]
        faulty = "\n".join([*before, fault.source, *after])
        patches: list[Patch] = []
        for form in (patched, other):
            repaired = "\n".join([*before, form.source, *after])
            change = _change(fault.source.split("\n"), form.source.split("\n"), faulty, repaired)
            if change is None:
                return None
            patches.append(Patch(old=change[0], new=change[1], rule=self._rule(number, form)))
        if normalized("code", patches[0].rule) == normalized("code", patches[1].rule):
            return None
        hidden: list[HiddenCall] = []
        for one, report in zip(self.behaviours, patched.reports, strict=True):
            graded = graded_call(one.arguments, report)
            if graded is not None:
                hidden.append(graded)
        if len(hidden) < FEWEST_HIDDEN:
            return None
        with_fault = file.model_copy(update={"text": faulty, "content": text_digest(faulty)})
        settled = int(self.rng.bernoulli(0.5))
        return Repair(
            package=self.sources.package,
            function=self.function,
            path=file.path,
            files=tuple(with_fault if one.path == file.path else one for one in files),
            arguments=self.behaviours[number].arguments,
            fails_with=fault.reports[number].text,
            patches=(patches[settled], patches[1 - settled]),
            settled=settled,
            hidden=tuple(hidden),
            limits=self.limits,
        )


def _change(old: Sequence[str], new: Sequence[str], before: str, after: str) -> tuple[str, str] | None:
    """Return the lines that differ, with as many lines above as make each unique in its file; None where they are many."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    same = 0
    while same < min(len(old), len(new)) - start and old[-1 - same] == new[-1 - same]:
        same += 1
    while start >= 0:
        first = "\n".join(old[start : len(old) - same])
        second = "\n".join(new[start : len(new) - same])
        if max(len(old), len(new)) - same - start > MOST_LINES:
            return None
        if first and second and before.count(first) == 1 and after.count(second) == 1:
            return first, second
        start -= 1
    return None


def _rows(seeded: SeededFault) -> list[Row]:
    repair = seeded.repair
    row: Row = {"package": repair.package.name, "call": repair.call, "fails with": repair.fails_with}
    return [{**row, "rule": repair.rule, "hidden calls": len(repair.hidden), "equivalent": seeded.equivalent}]


CR_MUTANTS = Stage(
    name="cr_mutants",
    record=SeededFault,
    make=seed_fault,
    needs=(CR_SOURCES,),
    description=AssetDescription(
        group="code",
        description="A fault in one function of the package, found by running: a call that comes to three results with three "
        "forms of the function. One form is the fault, two are repairs, and the team settled on one of these.",
        rows=_rows,
        paper="MemGym",
    ),
)
