"""How the arguments of a server's own tools are filled, and what is refused of its settings; no server is needed for it."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.registry import find_memory
from pipelines.memories.services.mcp_memory import McpMemory, Tool

FIELDS = ("text", "number")


def tool(arguments: str) -> Tool:
    return Tool("add", arguments, what="write_arguments", fields=FIELDS)


def test_names_in_braces_are_replaced_in_every_text_and_what_stands_in_for_them_is_data() -> None:
    values = {"text": "{number} ${HOME} {0.__class__}", "number": 7}
    filled = tool('{"list": [{"a": "No. {number}: {text}", "b": "{number}"}], "c": 5, "d": "{}"}').fill_arguments(values)

    assert filled == {"list": [{"a": f"No. 7: {values['text']}", "b": 7}], "c": 5, "d": "{}"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("a: [", "The setting write_arguments is neither JSON nor YAML"),
        ("!!python/object/apply:os.system ['true']", "is neither JSON nor YAML"),
        ("- text", "must hold the tool's arguments by name"),
        ("a: '{query}'", r"has {query}, which is no variable; there are {text}, {number}\."),
    ],
)
def test_a_template_that_cannot_be_used_is_one_sentence(arguments: str, words: str) -> None:
    with pytest.raises(MemoryFailed, match=words):
        tool(arguments)


def test_a_memory_over_mcp_has_one_place_and_writes_something() -> None:
    with pytest.raises(MemoryFailed, match="either an `address` or a `command`"):
        McpMemory()
    with pytest.raises(MemoryFailed, match=r"must say what is written: \{events\}, or \{text\}"):
        McpMemory(command="server", write_arguments="{}")
    with pytest.raises(MemoryFailed, match="must say what is written"):
        McpMemory(command="server", write_arguments='{"a": "{events}", "b": "{line}"}')


def described(folder: Path, settings: str) -> str:
    """A YAML file with these settings."""
    path = folder / "server.yaml"
    path.write_text(f"kind: mcp\nsettings:\n{settings}", encoding="utf-8")
    return str(path)


def test_the_folders_of_a_command_are_needed_to_start_it_and_part_of_no_id(tmp_path: Path) -> None:
    spec = find_memory(described(tmp_path, "  command: node /home/ada/servers/index.js --stdio\n"))

    assert spec.location == "node /home/ada/servers/index.js --stdio"
    assert spec.settings == {"command": "node index.js --stdio"}
    assert "ada" not in spec.model_dump_json()
    with pytest.raises(EvaluationError, match="give it in the memory's file"):
        find_memory(described(tmp_path, "  command: node index.js\n") + "?command=other")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("  command: node 'index.js\n", "cannot be taken apart as a shell would"),
        ("  command: node index.js\n  environment: narwhal\n", "A line of the memory's setting `environment` cannot be used"),
        ("  command: node index.js\n  environment: API_KEY=narwhal\n", "holds the value of 'API_KEY'"),
    ],
)
def test_a_command_that_cannot_be_used_is_refused_before_it_is_started(settings: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=words) as caught:
        find_memory(described(tmp_path, settings))
    assert "narwhal" not in str(caught.value)
