"""A-Mem after its paper (Xu et al., 2025, arXiv 2502.12110): linked notes whose descriptions evolve with what comes later."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from assets.records.base import Text
from pipelines.memories.built_in.base import CopiedMemory, Positive, TextIndex, without_forgotten
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt

FORGOTTEN_AMONG = 30  # notes that are looked at when something is to be forgotten


class NoteReply(BaseModel):
    """How a new note is described."""

    keywords: list[Text]
    context: Text
    tags: list[Text]


class NoteUpdate(BaseModel):
    """A neighbour as it should be described from now on."""

    id: str
    context: Text
    tags: list[Text]


class LinksReply(BaseModel):
    """What the new note is linked with, its tags, and the neighbours that change."""

    links: list[str] = Field(default_factory=list[str])
    tags: list[Text] = Field(default_factory=list[str])
    updates: list[NoteUpdate] = Field(default_factory=list[NoteUpdate])


@dataclass
class Note:
    """Something perceived, and how it is described. `links`: numbers of other notes."""

    line: str
    keywords: list[str]
    context: str
    tags: list[str]
    links: list[int] = field(default_factory=list[int])

    @property
    def embedded_text(self) -> str:
        """All of the note's words: what is embedded."""
        return f"{self.line} {self.context} {', '.join(self.keywords)} {', '.join(self.tags)}"

    @property
    def reader_line(self) -> str:
        """The note as one line for a reader."""
        return f"{self.line} ({' '.join(self.context.split())})"


class AMemMemory(CopiedMemory):
    """A note for each event; `neighbours` are looked at for links and changes; a note brings its links along."""

    embeds = True

    def __init__(self, tools: MemoryTools, *, topk: Positive = 10, neighbours: Positive = 5) -> None:
        super().__init__(tools)
        self.topk = topk
        self.neighbours = neighbours
        self.notes: dict[int, Note] = {}
        self.index = TextIndex()

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        for event in events:
            note = await self._describe_line(event.line)
            [vector] = await self.tools.embed([note.embedded_text])
            near = self.index.nearest(vector, limit=self.neighbours)
            if near:
                await self._link(note, near)
            [vector] = await self.tools.embed([note.embedded_text])
            self.notes[self.index.add(note.reader_line, vector)] = note

    async def _describe_line(self, line: str) -> Note:
        prompt = load_prompt("memories/describe_note").render(content=line)
        return await self.tools.ask(prompt, NoteReply, lambda reply: Note(line, **reply.model_dump()))

    async def forget(self, request: MemoryEvent) -> None:
        """Leave what is to be forgotten out of the notes nearest to the request, describe them anew, and keep the request."""
        [vector] = await self.tools.embed([request.text])
        near = {number: self.notes[number].line for number in self.index.nearest(vector, limit=FORGOTTEN_AMONG)}
        left = await without_forgotten(self.tools, request, near)
        recalled = dict[int, str]()
        for number, line in left.items():
            links = self.notes.pop(number).links
            recalled[number] = ""
            if line.strip():
                self.notes[number] = await self._describe_line(line)
                self.notes[number].links = links
                recalled[number] = self.notes[number].reader_line
        await self.index.replace(recalled, self.tools)
        await self.write([request])

    async def _link(self, note: Note, near: Sequence[int]) -> None:
        """Link the note and let its neighbours evolve. Ids that are none of the neighbours' are passed over."""
        known = dict[str, int]()
        neighbours = list[dict[str, object]]()
        for number in near:
            known[str(number)] = number
            neighbours.append({"id": str(number), "note": self.notes[number].reader_line, "tags": self.notes[number].tags})
        prompt = load_prompt("memories/link_note").render(
            note={"note": note.reader_line, "tags": note.tags}, neighbours=neighbours
        )
        reply = await self.tools.ask(prompt, LinksReply, lambda reply: reply)
        note.links = [known[key] for key in dict.fromkeys(reply.links) if key in known]
        note.tags = reply.tags or note.tags
        # The last word on a neighbour counts, and each is embedded once.
        changed = dict[int, Note]()
        for update in reply.updates:
            if update.id in known:
                neighbour = self.notes[known[update.id]]
                neighbour.context = update.context
                neighbour.tags = update.tags
                changed[known[update.id]] = neighbour
        if changed:
            vectors = await self.tools.embed([neighbour.embedded_text for neighbour in changed.values()])
            for number, vector in zip(changed, vectors, strict=True):
                self.index.put(number, self.notes[number].reader_line, vector)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        if not self.notes:
            return []
        [vector] = await self.tools.embed([query])
        found = self.index.nearest(vector, limit=self.topk)
        linked = list[int]()
        for number in found:
            linked += [link for link in self.notes[number].links if link in self.notes]
        return self.index.lines_within(dict.fromkeys([*found, *linked]), tokens)
