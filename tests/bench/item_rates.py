"""Real rates of wrong items that the gates accept, beside what a quality report prints of them, for judges that err.

A judge that errs takes a wrong text for what it should be: in each reading anew; again whenever the same text is asked for
in the same words, as at temperature 0; or again however it is asked for. The real rate is that of items whose writer hands
in one wrong text after the other, through gates and rewritings as in a run. What the report prints comes from an audit of
20 users, and the decoys that these have.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal, cast

from rich.console import Console
from rich.table import Table

from assets.amemgym.answers.gates import choice_gate, choose_answers, recover_variants, recovery_gate
from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.decoys import judge_decoys
from assets.amemgym.audits.labelled_probes import answer_items, query_items
from assets.amemgym.audits.user_parts import AuditedUser
from assets.amemgym.events import EVENTS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.state import SessionSet
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, Reader, pass_gates, rewrite, take_votes
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.policies import GatePolicy
from assets.records.base import ItemFailed
from assets.records.estimate import Estimate, percent, percents
from pipelines.home import home
from tests.support.honest_replies import material, situations_of, telling
from tests.support.run_contexts import materialized, run_context
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe
from validation.amemgym.report.gates import GateErrors

Again = Literal["never", "in the same words", "always"]
AGAIN: tuple[Again, ...] = ("never", "in the same words", "always")
RATES = (0.05, 0.2)
USERS = 20
ITEMS = 40  # a user's real items at each gate
STAGES = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES, ANSWERS)
GATES = ("exposure", "recovery and choice")


@dataclass
class ErringJudge:
    """The LanguageModel port. It knows what each wrong text should tell, and says so in a share `rate` of readings.

    Whatever it does not take for that, it cannot tell.
    """

    rate: float
    again: Again
    seed: int
    wanted: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt == "session_queries/probe":
            reply = self._queries(request)
        else:
            reply: dict[str, Any] = {}
            for case in material(request, "cases").values():
                reply |= self._chosen(request, case)
        return ModelReply(json.dumps(reply), "stop", 10, 10)

    def _queries(self, request: ModelRequest) -> dict[str, Any]:
        texts: dict[str, str] = material(request, "messages")
        return {key: telling(request, self._told(request, text)) for key, text in texts.items()}

    def _told(self, request: ModelRequest, text: str) -> dict[str, str]:
        return self.wanted.get(text, {}) if self._errs(request, text) else {}

    def _chosen(self, request: ModelRequest, case: Mapping[str, Any]) -> dict[str, int]:
        recovers = request.labels.prompt == "answers/check"
        situations = situations_of(case)
        chosen = dict.fromkeys(case["answers"] if recovers else situations, 0)
        for place, situation in situations.items():
            for number, text in case["answers"].items():
                if self.wanted.get(text) == situation and self._errs(request, text):
                    chosen[number if recovers else place] = int(place if recovers else number)
        return chosen

    def _errs(self, request: ModelRequest, text: str) -> bool:
        reading: dict[Again, tuple[object, ...]] = {
            "never": (request.sample, request.messages[0].content),
            "in the same words": (request.messages[0].content,),
            "always": (),
        }
        return SeededRandom(self.seed, request.labels.prompt, text, *reading[self.again]).bernoulli(self.rate)


def bench_recipe(users: int, *, decoys: int | None = None) -> AMemGymRecipe:
    """The counts of `base`, but that nobody reads stories: the judge knows queries and answers only."""
    return small_recipe(
        num_users=users,
        num_questions=10,
        num_periods=10,
        num_changes_per_period=4,
        num_states_per_question=2,
        num_choices_per_state=3,
        min_variants_per_question=4,
        gates=GatePolicy(consistency=False),
        audit={"decoys": decoys},
    )


def made_users(recipe: AMemGymRecipe) -> list[AuditedUser]:
    """Return users whose texts are all different: each says only which it is."""
    model = ScriptedModel()
    with tempfile.TemporaryDirectory() as folder:
        context = run_context(Path(folder), model)
        made = materialized(context, recipe, *STAGES)
        records: dict[str, list[Any]] = {}
        for stage in STAGES:
            rows = context.snapshots.read(made[stage.name].ref, stage.name, record=stage.record)
            records[stage.name] = list(dict(rows).values())
    parts = (USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, SESSION_QUERIES, ANSWERS)
    users: list[AuditedUser] = []
    for profile, schema, trajectory, sessions, answers in zip(*(records[part.name] for part in parts), strict=True):
        user = AuditedUser(profile, schema, trajectory, sessions, answers, recipe, model)
        users.append(replace(user, sessions=_own_queries(user), answers=_own_answers(user)))
    return users


def _own_queries(user: AuditedUser) -> SessionSet:
    numbers = count(1)
    periods: list[Any] = []
    for period in user.sessions.periods:
        sessions: list[Any] = []
        for session in period.sessions:
            query = f"Query {next(numbers)} of {user.profile.user_id}."
            sessions.append(session.model_copy(update={"query": query}))
        periods.append(period.model_copy(update={"sessions": tuple(sessions)}))
    return user.sessions.model_copy(update={"periods": tuple(periods)})


def _own_answers(user: AuditedUser) -> Any:
    questions: list[Any] = []
    for question in user.answers.questions:
        choices: list[Any] = []
        for choice in question.choices:
            answer = f"Answer {choice.choice_id} of {user.profile.user_id}."
            choices.append(choice.model_copy(update={"answer": answer}))
        questions.append(question.model_copy(update={"choices": tuple(choices)}))
    return user.answers.model_copy(update={"questions": tuple(questions)})


async def decoys_of(user: AuditedUser, judge: ErringJudge) -> UserAudit:
    """Return the decoys of a user as the audit reads them."""
    for probes in (*query_items(user), *answer_items(user)):
        for probe in probes:
            if not probe.right:
                judge.wanted.setdefault(probe.text, probe.label)
    asked = replace(user, model=judge)
    return UserAudit(user_id=user.profile.user_id, decoys=tuple(await judge_decoys(asked)))


async def accepted_queries(user: AuditedUser, judge: ErringJudge, *, items: int) -> list[bool]:
    """Return for each wrong query, whose writer never hits its label, if the gate accepts it in the end."""
    asked = replace(user, model=judge)
    accepted: list[bool] = []
    for number, item in enumerate(islice(user.session_items, items)):
        label = item.session.exposed_states
        texts = wrong_texts(judge, f"{user.profile.user_id} query {number}", label)
        gate = never_hitting(asked.query_gate(item.item_id, "", label=label), texts)
        attempt = GateAttempt(item.item_id, next(texts))
        accepted.append(await passes(gate, attempt, asked.read_queries, recipe=user.recipe))
    return accepted


async def accepted_answers(user: AuditedUser, judge: ErringJudge, *, items: int) -> list[bool]:
    """Return the same for wrong answers, which pass their two gates as in a run."""
    accepted: list[bool] = []
    cases = [(question, choice) for question in replace(user, model=judge).questions for choice in question.answers.choices]
    for number, (question, choice) in enumerate(cases[:items]):
        variant = question.variant(choice)
        asked = question.context
        texts = wrong_texts(judge, f"{user.profile.user_id} answer {number}", variant.assignment)
        attempt = GateAttempt(asked.item_id(variant), next(texts))
        recovery = never_hitting(recovery_gate(asked, variant), texts)
        chosen = False
        try:
            while not chosen:
                await pass_gates([[(recovery, attempt)]], recover_variants, size=1, recipe=user.recipe)
                answers = list(question.texts)
                answers[asked.variants.index(variant)] = attempt.text
                choice_of = never_hitting(choice_gate(asked, variant, answers), texts)
                (chosen,) = await take_votes([[(choice_of, attempt)]], choose_answers, size=1, recipe=user.recipe)
                if not chosen:
                    await rewrite(choice_of, attempt, policy=user.recipe.gates)
        except ItemFailed:
            pass
        accepted.append(chosen)
    return accepted


def wrong_texts(judge: ErringJudge, name: str, label: dict[str, str]) -> Iterator[str]:
    """Yield one text after the other that should tell the label and does not."""
    for number in count(1):
        text = f"Wrong text {number} for {name}."
        judge.wanted[text] = label
        yield text


def never_hitting(gate: Gate[Any], texts: Iterator[str]) -> Gate[Any]:
    """Return the gate with a writer that hands in the next text."""

    async def next_text(*_: object) -> str:
        return next(texts)

    return replace(gate, refine=next_text, redraft=next_text)


async def passes(gate: Gate[Any], attempt: GateAttempt, read: Reader[Any], *, recipe: AMemGymRecipe) -> bool:
    try:
        await pass_gates([[(gate, attempt)]], read, size=1, recipe=recipe)
    except ItemFailed:
        return False
    return True


@dataclass(frozen=True)
class ItemRate:
    """What became of wrong items at one item's gates, beside what a report prints."""

    rate: float
    again: Again
    gate: str
    items: int
    accepted: int
    decoys: Estimate

    @property
    def real(self) -> float:
        return self.accepted / self.items


async def item_rates(users: Sequence[AuditedUser], judge: ErringJudge, *, items: int = ITEMS) -> list[ItemRate]:
    """Return the rates at each gate, for so many real items of each user."""
    errors = GateErrors()
    accepted: dict[str, list[bool]] = {gate: [] for gate in GATES}
    for user in users:
        errors.add(await decoys_of(user, judge))
        accepted["exposure"] += await accepted_queries(user, judge, items=items)
        accepted["recovery and choice"] += await accepted_answers(user, judge, items=items)
    lines = list(errors.rates())
    decoys = {line.gate: line.share for line in lines if line.error == "false_accept" and not line.kind}
    found: list[ItemRate] = []
    for gate in GATES:
        own = accepted[gate]
        found.append(ItemRate(judge.rate, judge.again, gate, len(own), sum(own), decoys[gate]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.item_rates", description=__doc__)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--items", type=int, default=ITEMS, help="real items of each user at each gate")
    parser.add_argument("--seed", type=int, default=0, help="decides which readings err")
    given = parser.parse_args()
    users = made_users(bench_recipe(cast(int, given.users)))
    table = Table("readings that err", "the same again", "gate", "really accepted", "decoys accepted")
    found: list[ItemRate] = []
    for rate in RATES:
        for again in AGAIN:
            judge = ErringJudge(rate, again, cast(int, given.seed))
            found += asyncio.run(item_rates(users, judge, items=cast(int, given.items)))
    for line in found:
        real = f"{percent(line.real)} of {line.items}"
        table.add_row(f"{line.rate:.0%}", line.again, line.gate, real, percents(line.decoys))
    Console(width=120).print(table)
    rows: list[dict[str, Any]] = []
    for line in found:
        rows.append({**vars(line), "decoys": line.decoys.model_dump()})
    target = home().root / "item_rates.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=2))
    print(f"Kept in {target}.")


if __name__ == "__main__":
    main()
