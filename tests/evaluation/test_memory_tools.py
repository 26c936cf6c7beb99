"""What a memory of somebody's own is given to work with: a chat in the OpenAI form, and tools that its copies share."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.records.base import ItemFailed
from pipelines.evaluation.folder import PAGE
from pipelines.evaluation.verifying.verdict import page_data
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import leaderboard_data
from pipelines.memories.check import check_memory
from pipelines.memories.contract import MemorySpec
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.registry import find_memory
from prompts.template import Message
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run


class CutOff(HonestModel):
    """A model that never comes to the end of a chat."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt != "chat":
            return await super().complete(request)
        return ModelReply(text="Half a sum", finish="length", input_tokens=10, output_tokens=8192)


def test_a_chat_takes_messages_in_the_openai_form_and_gives_back_a_text() -> None:
    model = HonestModel({"chat": "Tea."})
    parts = [{"type": "text", "text": "Tea "}, {"type": "text", "text": "or coffee?"}]
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": parts}, Message("assistant", "Hm.")]

    assert run(tools(model).chat(messages)) == "Tea."
    assert model.requests[0].messages == (
        Message("system", "Be brief."),
        Message("user", "Tea or coffee?"),
        Message("assistant", "Hm."),
    )


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": [{"type": "image_url", "image_url": "x"}]},
    ],
)
def test_messages_of_another_form_are_refused_with_the_form_and_no_model_is_asked(message: dict[str, object]) -> None:
    model = HonestModel()
    with pytest.raises(ValueError, match=r"of `tools\.chat` is"):
        run(tools(model).chat([message]))
    assert model.requests == []


def test_a_chat_that_was_cut_off_says_so_and_has_what_there_is() -> None:
    with pytest.raises(ItemFailed, match="was cut off after 8,192 tokens") as caught:
        run(tools(CutOff()).chat([{"role": "user", "content": "Sum it up."}]))
    assert caught.value.last_reply == "Half a sum"


SUMS_UP = """
import copy

class SumsUp:
    def __init__(self, tools):
        self.tools = tools
        self.chat = tools.chat
        self.lines = []

    async def write(self, events):
        asked = "\\n".join(event.line for event in events)
        await self.tools.chat([{"role": "user", "content": asked}])
        self.lines += [event.line for event in events]

    def recall(self, query, *, tokens):
        return self.lines

    def fork(self):
        return copy.deepcopy(self)
"""


@pytest.fixture
def sums_up(tmp_path: Path) -> str:
    """A memory that asks a model for each write, and copies itself with its tools."""
    path = tmp_path / "sums_up.py"
    path.write_text(SUMS_UP, encoding="utf-8")
    return f"{path}:SumsUp"


def test_a_memory_with_tools_may_copy_itself_whole(sums_up: str) -> None:
    verdicts = run(check_memory(find_memory(sums_up), tools(HonestModel())))

    assert [verdict.sentence for verdict in verdicts] == [""] * len(verdicts)


def test_a_write_whose_chat_is_cut_off_is_counted_as_lost_and_not_taken(sums_up: str, tmp_path: Path) -> None:
    spec = find_memory(sums_up)
    lost = finish(run_of(tmp_path, CutOff(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)).results
    whole = finish(run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), attempt=1)).results

    assert lost.errors == ()
    assert lost.metrics["overall"].value != whole.metrics["overall"].value == 1


ASKS_ANOTHER = """
from dataclasses import replace

from amemgym.pipelines.memories.contract import chat_request
from amemgym.prompts.template import Message


class Strong:
    def __init__(self, tools):
        self.tools = tools

    def write(self, events): ...

    async def recall(self, query, *, tokens):
        way, _, name = query.partition(" ")
        request = chat_request(self.tools.model_name, [Message("user", "What is right?")], seed=1)
        if way == "chat":
            return [await replace(self.tools, model_name=name).chat([{"role": "user", "content": "What is right?"}])]
        if way == "embed":
            return [str(len(await self.tools.embedder.embed(["tea"], model=name)))]
        if way == "request":
            return [(await self.tools.model.complete(replace(request, model=name))).text]
        return [(await self.tools.model.complete(replace(request, extra_body={"model": name}))).text]
"""


@pytest.mark.parametrize("in_process", [True, False])
def test_a_memory_asks_the_models_that_the_run_names_and_no_other(in_process: bool, tmp_path: Path) -> None:
    """Issue 57: a memory called a stronger model than the one on the page, with the run's key."""
    path = tmp_path / "strong.py"
    path.write_text(ASKS_ANOTHER, encoding="utf-8")
    model = HonestModel()

    async def answers(more: tuple[str, ...]) -> dict[str, str]:
        given = replace(tools(model), more_models=more)
        host = host_memory(find_memory(f"{path}:Strong"), given, confinement=Confinement(in_process))
        memory = await host.new_memory()
        found = dict[str, str]()
        for way in ("chat gpt-5", "embed gpt-5", "request gpt-5", "fields gpt-5", "request test-model"):
            try:
                found[way] = " ".join(await memory.recall(way, tokens=100))
            except MemoryFailed as failed:
                found[way] = str(failed)
        await host.close()
        return found

    refused = run(answers(()))
    for way in ("chat gpt-5", "embed gpt-5", "request gpt-5"):
        assert refused[way].startswith(
            "The memory asks the model 'gpt-5', which this run does not name; it may ask test-embedding"
        )
        assert "--set more_models=NAME" in refused[way]
    assert "adds fields to a request" in refused["fields gpt-5"]
    assert refused["request test-model"] == "Noted."
    assert {request.model for request in model.requests} == {"test-model"}
    allowed = run(answers(("gpt-5",)))
    assert [allowed["chat gpt-5"], allowed["embed gpt-5"], allowed["request gpt-5"]] == ["Noted.", "1", "Noted."]


def test_further_models_are_in_the_runs_id_on_its_page_and_on_the_board(tmp_path: Path) -> None:
    spec = MemorySpec(name="bm25", kind="bm25")
    work = partial(run_of, tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
    more = finish(work(more_models=("gpt-5",)))
    assert work().manifest.run_id != more.manifest.run_id
    page = page_data(tmp_path / more.manifest.run_id / PAGE)
    assert ["the memory may also ask", "gpt-5"] in page["facts"]
    assert "bm25 may also ask gpt-5: the setting more_models allows it." in page["notes"]
    assert [row["label"] for row in leaderboard_data(compare_runs([more]), pages={})["runs"]] == ["bm25 (may also ask gpt-5)"]
