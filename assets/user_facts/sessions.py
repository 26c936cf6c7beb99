"""Stage `facts_sessions`: what the user says in each session, read back by judges, and the mails that come with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.matters_read import misread, plain_words, read_matters
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured, numbered
from assets.memory_items.world.relations import spoken
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.base import GateRecord, Text
from assets.reporting.asset_description import AssetDescription, Row
from assets.text.words import spells
from assets.user_facts.lives import FACTS_LIVES
from assets.user_facts.records import VALUED, FactLife, FactSession, FactSessions, FactStatement
from prompts.catalogue import load_prompt

TELL = "facts_sessions/tell"
MAIL = "facts_sessions/mail"
READ = "facts_sessions/read"
GATE = "session"
DECOYS = 3  # matters that a judge is asked about although the message does not speak of them


class MessageReply(BaseModel):
    """The reply of the writer of a session."""

    message: Text


class MailReply(BaseModel):
    """The reply of the writer of a mail."""

    mail: Text


async def tell_life(life: FactLife, *, recipe: UserFactsRecipe, model: LanguageModel) -> FactSessions:
    """Word every session; judges must read each statement back, with its shape. Raises ItemFailed."""
    told = await gather_all(*(_tell_session(life, number, recipe=recipe, model=model) for number in range(len(life.sessions))))
    sessions: list[FactSession] = []
    votes: list[GateRecord] = []
    for session, own in told:
        sessions.append(session)
        votes += own
    return FactSessions(user_id=life.user_id, sessions=tuple(sessions), gate_records=tuple(votes))


async def _tell_session(
    life: FactLife, number: int, *, recipe: UserFactsRecipe, model: LanguageModel
) -> tuple[FactSession, Sequence[GateRecord]]:
    """Return a session with the votes on its words. Raises ItemFailed."""
    planned = life.sessions[number]
    said = [statement for statement in planned.statements if statement.shape not in ("forget", "refed")]
    forgets = [statement for statement in planned.statements if statement.shape == "forget"]
    message = await _SessionWords(life, number, "message", said, recipe, model).write_until_accepted()
    votes = message.records
    request = ""
    if forgets:
        # By itself, because a memory may get it in another way than what is told.
        asked = await _SessionWords(life, number, "request", forgets, recipe, model).write_until_accepted()
        request = asked.text
        votes = [*votes, *asked.records]
    mails: list[str] = []
    for statement in planned.statements:
        if statement.shape == "refed":
            mails.append(await _mail(life, number, statement, recipe=recipe, model=model))
    session = FactSession(
        number=number,
        at=planned.at,
        message=message.text,
        request=request,
        mail="\n\n".join(mails),
        statements=planned.statements,
    )
    return session, votes


async def _mail(life: FactLife, number: int, statement: FactStatement, *, recipe: UserFactsRecipe, model: LanguageModel) -> str:
    def check_mail(reply: MailReply) -> str:
        for wanted in (life.name, statement.label, statement.value):
            if not spells(reply.mail, wanted):
                raise ValueError(f"The mail must say {wanted!r}.")
        return reply.mail

    prompt = load_prompt(MAIL).render(
        name=life.name, matter=statement.label, value=statement.value, language=recipe.language_name
    )
    return await ask_structured(
        model, prompt=prompt, reply=MailReply, convert=check_mail, settings=recipe.asking, sample=number
    )


def read_as(statement: FactStatement) -> str:
    """Return what a judge must read of a statement: its shape, and its value if it has one."""
    return plain_words(f"{statement.shape}: {statement.value}" if statement.shape in VALUED else statement.shape)


def reading_of(statements: Iterable[FactStatement]) -> dict[str, str]:
    """Return what a judge must read of each matter, and what must follow for a judge in each case of a rule."""
    found: dict[str, str] = {}
    for statement in statements:
        found[statement.label] = read_as(statement)
        for case in statement.cases:
            found[case_asked(statement.label, statement.other, case.given)] = plain_words(case.then)
    return found


def case_asked(label: str, other: str, given: str) -> str:
    """Return the words in which a judge is asked for the consequence of a value."""
    return f"{label}, if the {other} is {given}"


@dataclass(frozen=True)
class _SessionWords:
    """Words the message or the request of one session."""

    life: FactLife
    number: int
    part: str
    statements: Sequence[FactStatement]
    recipe: UserFactsRecipe
    model: LanguageModel

    async def write_until_accepted(self) -> GateAttempt:
        """Return words that passed the gate, with the votes on them. Raises ItemFailed."""
        attempt = GateAttempt(f"session {self.number} {self.part}", await self._word(0))
        target = reading_of(self.statements)
        if target:
            gate = Gate(GATE, target, None, self._reword, self._word)
            await pass_gates([[(gate, attempt)]], self._read, size=1, recipe=self.recipe)
        return attempt

    async def _word(self, sample: int, reading: dict[str, str] | None = None) -> str:
        prompt = load_prompt(TELL).render(
            name=self.life.name,
            day=spoken(self.life.sessions[self.number].at.date()),
            statements=[_instruction(statement) for statement in self.statements],
            talk=self.recipe.talk_per_session if self.part == "message" else 0,
            reading=reading or {},
            language=self.recipe.language_name,
        )
        return await ask_structured(
            self.model,
            prompt=prompt,
            reply=MessageReply,
            convert=self._check_reply,
            settings=self.recipe.asking,
            sample=sample * len(self.life.sessions) + self.number,
        )

    async def _reword(self, _: str, reading: dict[str, str], sample: int) -> str:
        return await self._word(sample + 1, misread(reading, reading_of(self.statements)))

    def _check_reply(self, reply: MessageReply) -> str:
        """Return the message. Raises ValueError where it lacks a word that it has to say, or says what it must not."""
        for statement in self.statements:
            for problem in wording_problems(statement, reply.message):
                raise ValueError(problem)
        if not self.statements:
            # No judge reads small talk.
            for label in self._unplanned_matters(reply.message):
                raise ValueError(f"The message speaks of {label!r}, which it must leave out.")
        return reply.message

    def _unplanned_matters(self, text: str) -> list[str]:
        """Return the matters that the text names and that none of its statements is about."""
        planned = {label for statement in self.statements for label in (statement.label, statement.other)}
        return [label for label in self.life.labels.values() if label not in planned and spells(text, label)]

    async def _read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return for each message what a judge reads of each matter, among some that it does not speak of."""
        readings: list[dict[str, str]] = []
        named = {label for statement in self.statements for label in (statement.label, statement.other)}
        unnamed = [label for label in self.life.labels.values() if label not in named]
        for task in tasks:
            unplanned = self._unplanned_matters(task.text)
            rng = SeededRandom(self.recipe.world_seed, self.life.user_id, task.item_id, "matters", task.vote.number)
            asked = [*reading_of(self.statements), *unplanned, *rng.sample(unnamed, DECOYS)]
            matters = numbered(rng.shuffled(list(dict.fromkeys(asked))))
            prompt = load_prompt(READ).render(message=task.text, matters=matters)
            readings.append(await read_matters(self.model, task, matters, prompt=prompt, settings=self.recipe.asking))
        return readings


def _instruction(statement: FactStatement) -> dict[str, object]:
    """Return a statement as its writer gets it."""
    content: dict[str, object] = {"matter": statement.label, "what": statement.shape}
    if statement.value:
        content["value"] = statement.value
    if statement.until:
        content["day"] = spoken(statement.until)
    if statement.other:
        content["whose" if statement.shape == "other" else "other matter"] = statement.other
    if statement.cases:
        content["cases"] = [{"if": case.given, "then": case.then} for case in statement.cases]
    return content


def wording_problems(statement: FactStatement, text: str) -> list[str]:
    """Return a sentence for each thing that the text lacks to make the statement, or says although it must not."""
    problems: list[str] = []
    wanted = [statement.label, *statement.spoken_values]
    if statement.until:
        wanted.append(spoken(statement.until))
    if statement.other:
        wanted.append(statement.other)
    for word in wanted:
        if not spells(text, word):
            problems.append(f"The message must say {word!r}.")
    for value in statement.unspoken:
        if spells(text, value):
            problems.append(f"The message says {value!r}, which it must leave out.")
    return problems


def _rows(told: FactSessions) -> list[Row]:
    rows: list[Row] = []
    for session in told.sessions:
        shapes = ", ".join(f"{statement.label}: {statement.shape}" for statement in session.statements)
        rows.append({"session": session.number, "message": session.message, "mail": session.mail, "what": shapes})
    return rows


def _told_tokens(recipe: UserFactsRecipe) -> float:
    return 110 + 14 * (recipe.others_per_session + recipe.talk_per_session)


FACTS_SESSIONS = Stage(
    name="facts_sessions",
    version=2,
    record=FactSessions,
    make=tell_life,
    needs=(FACTS_LIVES,),
    prompts=(TELL, MAIL, READ),
    calls={
        TELL: PromptCalls(attrgetter("num_sessions"), reading=680, writing=_told_tokens),
        READ: PromptCalls(lambda recipe: recipe.num_sessions * recipe.gates.votes_for(GATE)[1], reading=450, writing=60),
        MAIL: PromptCalls(lambda recipe: recipe.dynamics.counts(recipe.num_facts)["forgotten"], reading=220, writing=50),
    },
    description=AssetDescription(
        group="lives",
        description="What the user says in each session, and the mails that are passed on with it. Judges read back what each "
        "message does to each matter; a request to forget names the matter and no value.",
        rows=_rows,
        paper="MemGym",
    ),
)
