"""The memories of the project keep the contract: copies see nothing later, recalling changes nothing, budgets hold."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from assets.llm.ports import ModelRequest
from assets.text.words import count_tokens
from pipelines.errors import EvaluationError
from pipelines.memories.built_in.base import ForgottenReply
from pipelines.memories.built_in.retrieval import ChangesReply, FactsReply
from pipelines.memories.code_identity import code_files, source_digest
from pipelines.memories.contract import MemoryEvent, MemorySpec, cut_to_budget
from pipelines.memories.failures import Retries
from pipelines.memories.hosting.confinement import CONFINED, Confinement, host_memory
from pipelines.memories.hosting.hosted import HostedMemory
from pipelines.memories.registry import find_memory, named_memories
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt
from tests.evaluation.scripted_evaluation import HonestModel, LetterEmbedder, fenced
from tests.support.coroutines import run

AT = datetime(2020, 10, 1, 9, 30)
REMEMBERING = sorted({spec.kind for spec in named_memories().values()} - {"none", "mem0", "mem0-graph"})
TOLD = ("I drink green tea in Lisbon.", "My cat sleeps all day.", "I have moved to Porto.")


def user_lines(request: ModelRequest, tag: str) -> list[str]:
    """What the user said in the request's block."""
    lines = fenced(request.messages[-1].content, tag).splitlines()
    return [line.partition("user: ")[2] for line in lines if "user: " in line]


def added(request: ModelRequest) -> object:
    """Every fact is new."""
    return {"memory": [{"text": fact, "event": "ADD"} for fact in json.loads(fenced(request.messages[-1].content, "facts"))]}


def noted(request: ModelRequest) -> object:
    """A note for each statement."""
    return {line[:9]: line for line in user_lines(request, "conversation")}


def summed_up(request: ModelRequest) -> object:
    """The summary with the statements beneath."""
    before = fenced(request.messages[-1].content, "summary")
    return {"summary": "\n".join([before, *user_lines(request, "conversation")]).strip()}


def facts_in(tag: str) -> Callable[[ModelRequest], object]:
    return lambda request: {"facts": user_lines(request, tag)}


def narrated(request: ModelRequest) -> object:
    return {"title": "Talk", "story": " ".join(user_lines(request, "episode"))}


SCRIPT: dict[str, Any] = {
    "memories/extract_facts": facts_in("conversation"),
    "memories/reconcile_memories": added,
    "memories/update_notes": noted,
    "memories/update_summary": summed_up,
    "memories/describe_note": {"keywords": ["tea"], "context": "Something about life.", "tags": ["life"]},
    "memories/link_note": {
        "links": ["0"],
        "tags": ["life"],
        "updates": [{"id": "0", "context": "The first.", "tags": ["old"]}],
    },
    "memories/find_boundary": {"boundary": True, "confidence": 0.9},
    "memories/narrate_episode": narrated,
    "memories/predict_episode": {"prediction": "Nothing much."},
    "memories/distill_knowledge": facts_in("episode"),
}


def tools(model: HonestModel) -> MemoryTools:
    return MemoryTools(model, LetterEmbedder(), "test-model", "test-embedding", 7)


def memory_of(kind: str, **settings: int) -> HostedMemory:
    """An empty memory of the kind."""
    return run(host_memory(MemorySpec(name=kind, kind=kind, settings={**settings}), tools(HonestModel(SCRIPT))).new_memory())


def recalled_anew(
    source: str | MemorySpec,
    query: str = "boat",
    *,
    texts: Sequence[str] = (),
    tokens: int = 100,
    given: Confinement = CONFINED,
) -> list[str]:
    """What a new memory gives back that was told these texts."""

    async def work() -> list[str]:
        spec = find_memory(source) if isinstance(source, str) else source
        host = host_memory(spec, tools(HonestModel()), confinement=given)
        try:
            memory = await host.new_memory()
            for text in texts:
                await memory.write([MemoryEvent(text, "user")])
            return await memory.recall("boat", tokens=tokens)
        finally:
            await host.close()

    return run(work())


def told(memory: HostedMemory, texts: Sequence[str]) -> None:
    """Write each as an exchange of its own."""
    for text in texts:
        run(memory.write([MemoryEvent(text, "user", AT), MemoryEvent("Noted.", "assistant", AT)]))


def recalled(memory: HostedMemory, query: str = "Where do I live?", tokens: int = 10_000) -> str:
    return "\n".join(run(memory.recall(query, tokens=tokens)))


@pytest.mark.parametrize("kind", REMEMBERING)
def test_what_was_written_is_recalled_and_a_copy_sees_nothing_of_what_comes_later(kind: str) -> None:
    memory = memory_of(kind)
    told(memory, TOLD)
    copy = run(memory.fork())
    before = recalled(copy)
    told(memory, ["I have bought a boat.", "The boat is blue."])

    assert "Porto" in before
    assert recalled(copy) == before
    assert "boat" in recalled(memory)
    assert "boat" not in before


@pytest.mark.parametrize("kind", REMEMBERING)
def test_writing_to_a_copy_leaves_the_memory_as_it_is_and_recalling_changes_nothing(kind: str) -> None:
    memory = memory_of(kind)
    told(memory, TOLD)
    before = recalled(memory)
    told(run(memory.fork()), ["I have bought a boat.", "The boat is blue."])
    recalled(memory, "A boat, a blue boat?")

    assert recalled(memory) == before


@pytest.mark.parametrize("kind", REMEMBERING)
@pytest.mark.parametrize("tokens", [0, 9, 30])
def test_no_memory_gives_back_more_than_its_budget(kind: str, tokens: int) -> None:
    memory = memory_of(kind)
    told(memory, TOLD)

    assert sum(map(count_tokens, run(memory.recall("Where do I live?", tokens=tokens)))) <= tokens
    assert memory.host.cut_recalls == 0, "the memory itself chooses what fits"


def test_none_remembers_nothing() -> None:
    memory = memory_of("none")
    told(memory, TOLD)

    assert recalled(memory) == ""


def test_bm25_finds_the_rare_word_first() -> None:
    memory = memory_of("bm25", topk=1)
    told(memory, TOLD)

    assert recalled(memory, "Does the cat sleep in Porto or all day?") == "[2020-10-01 09:30:00] user: My cat sleeps all day."


@pytest.mark.parametrize(
    ("told_texts", "query", "found"),
    [
        (("我住在波尔图的一间小房子里。", "我的猫整天睡觉。"), "你住在哪里?", "波尔图"),
        (("ポルトに引っ越しました。", "猫は一日中寝ています。"), "どこに引っ越しましたか", "ポルト"),
        (("ฉันย้ายไปอยู่ที่ปอร์โต", "แมวของฉันหลับทั้งวัน"), "ย้ายไปที่ไหน", "ปอร์โต"),
        (("저는 포르투로 이사했어요.", "고양이는 하루 종일 자요."), "이사한 곳은?", "포르투"),
    ],
)
def test_bm25_finds_texts_of_scripts_without_spaces(told_texts: tuple[str, ...], query: str, found: str) -> None:
    memory = memory_of("bm25", topk=1)
    told(memory, told_texts)

    assert found in recalled(memory, query)


def test_a_budget_cuts_within_the_text_that_does_not_fit() -> None:
    assert cut_to_budget(["one two", "three four"], 3) == ["one two", "three"]
    assert cut_to_budget(["one two", "three four"], 0) == []


PROSE = "The boat that I bought in Porto last spring is blue, and my sister wants to paint it green before the summer. "


@pytest.mark.parametrize(("letters_in_a_run", "most"), [(8, 1.4), (20, 1.4), (10_000, 1.0)])
def test_text_without_spaces_holds_no_more_within_the_same_budget(letters_in_a_run: int, most: float) -> None:
    joined = "".join(filter(str.isalpha, 20 * PROSE))
    packed = [joined[start : start + letters_in_a_run] for start in range(0, len(joined), letters_in_a_run)]
    plain = sum(map(str.isalpha, "".join(cut_to_budget([20 * PROSE], 200))))
    for texts in (packed, [" ".join(packed)]):
        assert sum(map(str.isalpha, "".join(cut_to_budget(texts, 200)))) <= most * plain


def test_letters_that_look_like_latin_ones_and_long_white_space_are_not_cheaper() -> None:
    assert count_tokens("𝒫𝑜𝓇𝓉𝑜") == 5
    assert count_tokens(f"Porto{640 * ' '}") == 11


@pytest.mark.parametrize("tokens", [0, 1, 5, 40, 41, 10_000])
def test_a_text_is_cut_where_one_more_word_would_be_too_many(tokens: int) -> None:
    text = 3 * PROSE
    kept = "".join(cut_to_budget([text], tokens))
    assert text.startswith(kept)
    assert count_tokens(kept) in (min(tokens, count_tokens(text)), tokens - 1)


def test_a_note_of_a_mem_brings_its_links_and_lets_its_neighbours_evolve() -> None:
    memory = memory_of("a-mem", topk=1)
    told(memory, TOLD[:2])

    found = recalled(memory, "My cat sleeps all day.")
    assert "(The first.)" in found, "the linked note, as it is described now"
    assert "cat" in found


def test_a_write_that_no_model_can_put_into_words_is_lost_and_counted() -> None:
    model = HonestModel({**SCRIPT, "memories/update_notes": "no JSON"})
    spec = MemorySpec(name="awi", kind="awi", settings={"ns": 0})
    lost = list[str]()
    retries = Retries(count=lambda method, count: lost.extend([method] * count.lost))
    memory = run(host_memory(spec, tools(model), retries=retries).new_memory())
    told(memory, TOLD[:1])

    assert lost == ["write"]
    assert recalled(memory) == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"topk": "many"}, "The setting 'topk' of memory 'bm25' cannot be used, .*there are"),
        ({"topk": 0}, "The setting 'topk' of memory 'bm25' cannot be used, .*there are"),
        ({"speed": 3}, "bm25 has no setting 'speed'; its settings are:"),
    ],
)
def test_a_wrong_setting_is_named_beside_those_that_there_are(settings: dict[str, str | int], words: str) -> None:
    with pytest.raises(EvaluationError, match=f"{words} topk, model, embedding_model"):
        host_memory(MemorySpec(name="bm25", kind="bm25", settings={**settings}), tools(HonestModel()))


def test_every_named_memory_can_be_made_and_its_code_has_a_digest() -> None:
    for name in named_memories().keys() - {"mem0", "mem0-graph"}:
        run(host_memory(find_memory(name), tools(HonestModel())).new_memory())

    assert len(source_digest(code_files("bm25"))) == 16
    with pytest.raises(EvaluationError, match="There is no memory 'elephant'"):
        find_memory("elephant")
    with pytest.raises(EvaluationError, match=r"Did you mean 'bm25'\?"):
        find_memory("BM25")


def test_the_examples_of_prompts_for_memories_obey_their_rules() -> None:
    def example(name: str) -> tuple[str, Any]:
        asked, replied = load_prompt(f"memories/{name}").parts[1:3]
        return asked.text, json.loads(replied.text)

    asked, reply = example("extract_facts")
    assert all(len(fact.split()) <= 12 for fact in FactsReply.model_validate(reply).facts)
    assert not {"quick", "stew"} & {word for fact in reply["facts"] for word in fact.split()}  # the assistant's
    asked, reply = example("reconcile_memories")
    changes = ChangesReply.model_validate(reply).memory
    assert len(changes) == len(json.loads(fenced(asked, "facts")))
    assert {change.id for change in changes} <= {memory["id"] for memory in json.loads(fenced(asked, "memories"))}
    asked, reply = example("leave_out_forgotten")
    texts = json.loads(fenced(asked, "texts"))
    for left in ForgottenReply.model_validate(reply).texts:
        assert "stammer" not in left.text
        assert set(left.text.split()) < set(texts[left.id].split())
