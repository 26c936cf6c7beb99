"""Assistants come by name, from files, from the reference's agent files, and from other packages by entry point."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from pipelines.evaluation.assistants.registry import configurations, find_spec, kind_version, make_assistant
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.records import AssistantSpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tools
from tests.support.coroutines import run

AGENT = {
    "type": "awe",
    "name": "awe-of-theirs",
    "llm_config": {"base_url": None, "api_key": "sk-secret", "llm_model": "m", "temperature": 0.0, "max_tokens": 2000},
    "memory_config": {"embedder": {"provider": "x", "config": {"model": "e"}}},
    "agent_config": {"update_bsz": 4, "local_length": 8, "top_k": 10, "enable_llm_mem_policy": True},
}
README = Path(__file__).parents[2] / "pipelines" / "evaluation" / "README.md"


def test_a_file_of_ones_own_names_kind_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("kind: awe\nsettings: {freq: 6, ns: 2}\n", encoding="utf-8")

    assert find_spec(str(path)) == AssistantSpec(name="mine", kind="awe", settings={"freq": 6, "ns": 2})


def test_an_agent_file_of_the_papers_code_is_read_without_its_key(tmp_path: Path) -> None:
    path = tmp_path / "awe.json"
    path.write_text(json.dumps(AGENT), encoding="utf-8")
    spec = find_spec(str(path))

    assert spec.model_dump() == {
        "name": "awe-of-theirs",
        "kind": "awe",
        "settings": {
            "model": "m",
            "temperature": 0.0,
            "max_output_tokens": 2000,
            "freq": 4,
            "ns": 8,
            "topk": 10,
            "embedding_model": "e",
        },
    }
    make_assistant(spec, tools(HonestModel()))


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"type": "native"}, "llm"),
        ({"type": "awi"}, "awi"),
        ({"agent_config": {"update_bsz": 2, "enable_llm_mem_policy": False}}, "rag"),
    ],
)
def test_every_type_of_the_papers_code_has_its_kind(tmp_path: Path, changes: dict[str, object], kind: str) -> None:
    path = tmp_path / "agent.json"
    path.write_text(json.dumps({**AGENT, **changes}), encoding="utf-8")
    spec = find_spec(str(path))

    assert spec.kind == kind
    make_assistant(spec, tools(HonestModel()))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("kind: [", "neither YAML nor JSON"),
        ("just words", "'kind' and 'settings'"),
        ("kind: awe\nsetings: {}", "setings"),
        ("type: mystery", "cannot be imported"),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(EvaluationError, match=words):
        find_spec(str(path))


def test_unknown_names_kinds_and_settings_are_told_with_what_there_is() -> None:
    with pytest.raises(EvaluationError, match=r"no assistant 'awe'; there are llm"):
        find_spec("awe")
    with pytest.raises(EvaluationError, match="no assistant of kind 'brain'"):
        make_assistant(AssistantSpec(name="x", kind="brain"), tools(HonestModel()))
    with pytest.raises(EvaluationError, match="'topk' cannot be used"):
        make_assistant(AssistantSpec(name="x", kind="llm", settings={"topk": 3}), tools(HonestModel()))


@pytest.mark.parametrize("kind", ["mem0", "mem0-graph"])
def test_mem0_without_its_library_is_one_sentence_that_says_how_to_install_it(kind: str) -> None:
    with pytest.raises(EvaluationError, match=r"needs the package mem0ai; install it with: .*pip install -e '\.\[mem0\]'"):
        make_assistant(find_spec(kind), tools(HonestModel()))


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the README's example, installed as a package with its entry point."""
    code, point = re.findall(r"```(?:python|toml)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[:2]
    (tmp_path / "diary.py").write_text(code, encoding="utf-8")
    info = tmp_path / "diary-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diary\nVersion: 1.2.3\n", encoding="utf-8")
    [line] = re.findall(r'^(\w+) = "(.*)"$', point, re.MULTILINE)
    (info / "entry_points.txt").write_text(f"[amemgym.assistants]\n{line[0]} = {line[1]}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    configurations.cache_clear()
    yield tmp_path / "diary.py"
    configurations.cache_clear()
    sys.modules.pop("diary", None)


@pytest.mark.usefixtures("diary")
def test_the_readmes_example_plugs_in_by_its_entry_point() -> None:
    model = HonestModel()
    assistant = make_assistant(find_spec("diary"), tools(model))
    run(assistant.respond("I drink tea.", at=datetime(2020, 10, 1)))
    copy = make_assistant(find_spec("diary"), tools(model))
    copy.restore(assistant.snapshot())

    assert "I drink tea." in copy.snapshot().decode()
    assert kind_version("diary") == "diary 1.2.3"


@pytest.mark.parametrize(
    ("code", "problem"),
    [("import no_such_package", "No module named 'no_such_package'"), ("", "'Diary'"), ("class:", "syntax")],
)
def test_a_package_that_cannot_be_imported_is_reported_in_one_sentence(diary: Path, code: str, problem: str) -> None:
    diary.write_text(code, encoding="utf-8")

    with pytest.raises(EvaluationError, match=f"kind 'diary' cannot be imported from 'diary:Diary': .*{problem}"):
        make_assistant(find_spec("diary"), tools(HonestModel()))


@pytest.mark.usefixtures("diary")
def test_the_readmes_example_is_evaluated_from_end_to_end(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, HonestModel(), spec=find_spec("diary")))

    assert finished.manifest.assistant_version == "diary 1.2.3"
    assert finished.results.metrics["overall"].value == 1.0
