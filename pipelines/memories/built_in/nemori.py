"""Nemori after its paper (Nan et al., 2025, arXiv 2508.03341): episodes cut by topic, and what predictions of them missed."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from assets.records.base import Text
from assets.text.words import count_tokens
from pipelines.memories.built_in.base import CopiedMemory, Positive, TextIndex
from pipelines.memories.built_in.retrieval import FactsReply
from pipelines.memories.contract import MemoryEvent, event_lines, lines_of, newest_within
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt

SURE = 0.7  # of a boundary, at least
RELATED = 10  # known facts from which an episode is predicted


class BoundaryReply(BaseModel):
    """Whether a new episode begins with the last message, and how sure that is."""

    boundary: bool
    confidence: float = Field(ge=0, le=1)


class EpisodeReply(BaseModel):
    """An episode, retold as a story with a title."""

    title: Text
    story: Text


class PredictionReply(BaseModel):
    """What an episode will have told."""

    prediction: Text


class NemoriMemory(CopiedMemory):
    """Recalls `episodes` stories, `facts` that were distilled, and the open episode word for word.

    `longest`: events after which an episode ends in any case.
    """

    embeds = True

    def __init__(self, tools: MemoryTools, *, episodes: Positive = 10, facts: Positive = 20, longest: Positive = 25) -> None:
        super().__init__(tools)
        self.episodes = episodes
        self.facts = facts
        self.longest = longest
        self.open: list[MemoryEvent] = []
        self.stories = TextIndex()
        self.knowledge = TextIndex()

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        if self.open and (len(self.open) + len(events) > self.longest or await self._begins_anew(events)):
            closed = self.open
            self.open = []
            await self._remember(closed)
        self.open += events

    async def _begins_anew(self, events: Sequence[MemoryEvent]) -> bool:
        prompt = load_prompt("memories/find_boundary").render(episode=event_lines(self.open), new=event_lines(events))
        return await self.tools.ask(prompt, BoundaryReply, lambda reply: reply.boundary and reply.confidence >= SURE)

    async def _remember(self, events: Sequence[MemoryEvent]) -> None:
        """Tell the episode as a story, predict it from what is known, and keep what the prediction missed."""
        prompt = load_prompt("memories/narrate_episode").render(episode=event_lines(events))
        title, story = await self.tools.ask(prompt, EpisodeReply, lambda reply: (reply.title, reply.story))
        at = events[-1].time
        [vector] = await self.tools.embed([f"{title} {story}"])
        self.stories.add(f"{at}{title}: {' '.join(story.split())}", vector)
        known = [self.knowledge.texts[number] for number in self.knowledge.nearest(vector, limit=RELATED)]
        prompt = load_prompt("memories/predict_episode").render(title=title, knowledge=known)
        prediction = await self.tools.ask(prompt, PredictionReply, lambda reply: reply.prediction)
        prompt = load_prompt("memories/distill_knowledge").render(prediction=prediction, episode=event_lines(events))
        missed = await self.tools.ask(prompt, FactsReply, lambda reply: list(dict.fromkeys(reply.facts)))
        for fact, embedded in zip(missed, await self.tools.embed(missed) if missed else [], strict=True):
            self.knowledge.add(f"{at}{' '.join(fact.split())}", embedded)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        recent = newest_within(lines_of(self.open), tokens)
        left = tokens - sum(map(count_tokens, recent))
        if not self.stories.texts:
            return recent
        [vector] = await self.tools.embed([query])
        facts = self.knowledge.lines_within(self.knowledge.nearest(vector, limit=self.facts), left)
        left -= sum(map(count_tokens, facts))
        return [*self.stories.lines_within(self.stories.nearest(vector, limit=self.episodes), left), *facts, *recent]
