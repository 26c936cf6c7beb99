"""Stage `cr_mutants`: a seeded fault whose failing call is found by running, two patches, and the sessions to be told."""

import ast
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from assets.code_qa.behaviours import execute_behaviours
from assets.code_qa.execution.mutants import mutants_of
from assets.code_qa.execution.sandbox import PROCESSES, CalledFunction, CallReport, run_calls
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.reading import text_digest
from assets.code_qa.packages.symbols import Function, function_in
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import Behaviour
from assets.code_qa.records.sources import CodeFile, CodeSources
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

MOST_MUTANTS = 16  # of one function; each is a process
MOST_FUNCTIONS = 12  # that are tried for one task
MOST_LINES = 12  # of a patch
FEWEST_HIDDEN = 2


async def seed_fault(sources: CodeSources, *, recipe: CodeRepairRecipe, model: LanguageModel) -> SeededFault:
    """Return a fault with two patches of which a team settled on one. Raises ItemFailed where none is found by running."""
    behaviours = (await execute_behaviours(sources, recipe=recipe, model=model)).behaviours
    rng = SeededRandom(recipe.world_seed, sources.task_id, "fault")
    functions = sorted({one.symbol_id for one in behaviours})
    limits = recipe.behaviours.limits
    equivalent = 0
    for function in rng.shuffled(functions)[:MOST_FUNCTIONS]:
        own = [one for one in behaviours if one.symbol_id == function]
        search = _FaultSearch(sources, function, own, limits, rng)
        found = await asyncio.wrap_future(PROCESSES.submit(search.found))
        equivalent += found.equivalent
        if found.repair is None:
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


class _FoundRepair(NamedTuple):
    """A repair if there is one, the calls that come to the same with both patches, and equivalent mutants thrown away."""

    repair: Repair | None
    undisputed: frozenset[tuple[str, ...]]
    equivalent: int


class _Variant(NamedTuple):
    """A form of the function, and what the calls come to with it."""

    source: str
    reports: Sequence[CallReport]

    def told(self) -> list[tuple[str, str]]:
        return [(one.status, one.text) for one in self.reports]


@dataclass(frozen=True)
class _FaultSearch:
    """Looks for a call that three forms of a function answer differently: the fault, and both patches."""

    sources: CodeSources
    function: str
    behaviours: Sequence[Behaviour]
    limits: SandboxLimits
    rng: SeededRandom

    def found(self) -> _FoundRepair:
        """Run the function as it is and changed in one place. Blocks until all calls are made."""
        module, _, name = self.function.rpartition(".")
        files = files_taken([module], self.sources.files)
        file = next(one for one in files if one.module == module)
        node = function_in(file, name)
        if node.decorator_list:
            return _FoundRepair(None, frozenset(), 0)
        original = ast.unparse(node)
        sources = [original, *(one.source for one in self.rng.sample(mutants_of(node), MOST_MUTANTS))]
        calls = tuple(one.arguments for one in self.behaviours)
        called = [CalledFunction(module=module, name=name, calls=calls, source=source) for source in sources]
        reports = run_calls(called, files=files, limits=self.limits, hash_seed=HASH_SEED)
        first, *mutants = [_Variant(*each) for each in zip(sources, reports, strict=True)]
        different = [one for one in mutants if one.told() != first.told()]
        usable = [one for one in (first, *different) if all(report.status in ("returns", "raises") for report in one.reports)]
        equivalent = len(mutants) - len(different)
        for number, fault, patched, other in self._choices(usable):
            repair = self._repair(file, node, files, number, (fault, patched, other))
            if repair is not None:
                agreed: set[tuple[str, ...]] = set()
                for arguments, *told in zip(calls, first.told(), patched.told(), other.told(), strict=True):
                    if len(set(told)) == 1:
                        agreed.add(arguments)
                return _FoundRepair(repair, frozenset(agreed - {repair.arguments}), equivalent)
        return _FoundRepair(None, frozenset(), equivalent)

    def _choices(self, variants: Sequence[_Variant]) -> Iterator[tuple[int, _Variant, _Variant, _Variant]]:
        """Yield a call's number with a fault, the settled form and the other one: three results, in seeded order."""
        for number in self.rng.shuffled(list(range(len(self.behaviours)))):
            by_result: dict[str, _Variant] = {}
            for one in self.rng.shuffled(list(variants)):
                if one.reports[number].status == "returns":
                    by_result.setdefault(one.reports[number].text, one)
            chosen = self.rng.sample(list(by_result.values()), 4)
            for fault, patched, other in permutations(chosen, 3):
                yield number, fault, patched, other

    def _repair(
        self, file: CodeFile, node: Function, files: Sequence[CodeFile], number: int, forms: tuple[_Variant, _Variant, _Variant]
    ) -> Repair | None:
        """Return the repair; None where a patch is no short change of one place, or a rule cannot be told."""
        fault, patched, other = forms
        arguments = self.behaviours[number].arguments
        lines = file.text.split("\n")
        before, after = lines[: node.lineno - 1], lines[node.end_lineno or node.lineno :]
        texts = ["\n".join([*before, form.source, *after]) for form in forms]
        patches: list[Patch] = []
        for form, text in ((patched, texts[1]), (other, texts[2])):
            change = _change(fault.source.split("\n"), form.source.split("\n"), texts[0], text)
            rule = assertion(self.function, arguments, form.reports[number].text)
            if change is None or not is_told(rule):
                return None
            patches.append(Patch(old=change[0], new=change[1], rule=rule))
        if normalized("code", patches[0].rule) == normalized("code", patches[1].rule):
            return None
        hidden: list[HiddenCall] = []
        for one, report in zip(self.behaviours, patched.reports, strict=True):
            graded = graded_call(one.arguments, report)
            if graded is not None:
                hidden.append(graded)
        if len(hidden) < FEWEST_HIDDEN:
            return None
        faulty = file.model_copy(update={"text": texts[0], "content": text_digest(texts[0])})
        settled = int(self.rng.bernoulli(0.5))
        return Repair(
            package=self.sources.package,
            function=self.function,
            path=file.path,
            files=tuple(faulty if one.path == file.path else one for one in files),
            arguments=arguments,
            fails_with=fault.reports[number].text,
            patches=(patches[settled], patches[1 - settled]),
            settled=settled,
            hidden=tuple(hidden),
            limits=self.limits.model_dump_json(),
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
