"""The list of commands: each is loaded when it is called, and its process ends at once when all is done."""

import base64
import json
import re
import shlex
import socket
import subprocess
import sys
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import cast

import dagster as dg
import pytest
from typer.testing import CliRunner

from assets.recipe import loading
from assets.recipe.config_schema import recipe_fields
from assets.recipe.loading import variants
from assets.recipe.registry import RECIPE_TYPES
from pipelines.cli import UNREAD
from pipelines.cli.dagster_runs import first_problem
from pipelines.cli.main import BEGIN_WITH_A_VARIANT, COMMANDS, app, load_command, panels, summary_of
from pipelines.crash_report import StepFailed
from pipelines.errors import user_errors
from tests.support.commands import AMEMGYM, amemgym_here, clean_environment

ROOT = Path(__file__).parents[3]
ENDING = """
import os, sys, time
from tempfile import TemporaryDirectory
from threading import Event, Thread
import typer
from pipelines.__main__ import amemgym
from pipelines.cli.main import app

class Module:
    def __del__(self, write=os.write):
        write(1, b"taken apart")

def probe():
    global held, folder
    held, folder = Module(), TemporaryDirectory(dir=sys.argv[2])
    printed = Event()
    Thread(target=lambda: (printed.wait(), time.sleep(0.2), print("the thread is done"))).start()
    print("to a buffer")
    printed.set()
    {end}

app.command("probe", context_settings={{"allow_extra_args": True}})(probe)
sys.argv.insert(1, "probe")
amemgym()
"""


@pytest.mark.parametrize("group", sorted(COMMANDS.keys() & {"recipe", "prompts", "model", "cache", "memory"}))
def test_a_group_of_commands_lists_them_with_whole_sentences(group: str) -> None:
    printed = CliRunner().invoke(app, [group, "--help"]).output
    assert "Commands:" in printed
    assert not any(line.endswith("...") for line in printed.splitlines() if not line.startswith("Usage:"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_each_command_what_its_own_help_begins_with(name: str) -> None:
    sentence = summary_of(name)
    assert sentence.endswith(".")
    assert " ".join((load_command(name).help or "").split()).startswith(sentence)


def test_the_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"amemgym {version('amemgym-synth')}\n")


def test_help_lists_commands_in_groups_with_whole_sentences_and_in_colour_on_a_terminal_alone() -> None:
    plain = CliRunner().invoke(app, ["--help"]).output.splitlines()
    groups = [line.removesuffix(":") for line in plain if line.endswith(":") and line[0] != " " and line != "Options:"]
    assert groups == list(panels())
    begun = [match.group(1) for line in plain if (match := re.match(r"  ([a-z-]+) ", line))]
    assert [name for name in begun if name in COMMANDS] == list(chain.from_iterable(panels().values()))
    assert not any(line.endswith("...") for line in plain if not line.startswith("Usage:"))
    assert "\x1b[" in CliRunner().invoke(app, ["--help"], color=True).output
    assert not any("\x1b[" in line for line in plain)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("amemgym gene", ["generate"]),
        ("amemgym recipe fie", ["fields"]),
        ("amemgym generate --conc", ["--concurrency"]),
        ("amemgym generate ba", sorted(name for name in variants() if name.startswith("ba"))),
        ("amemgym regenerate 1 --from ans", ["answers"]),
    ],
)
def test_a_shell_completes_commands_options_variants_and_stages(typed: str, offered: list[str]) -> None:
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_AMEMGYM_COMPLETE": "complete_bash"}
    assert CliRunner().invoke(app, prog_name="amemgym", env=asked).output.split() == offered


def test_a_wrong_name_of_a_variant_is_told_before_the_command_is_imported() -> None:
    code = "import sys\nfrom pipelines.cli.main import run_command\n"
    code += "for command in sys.argv[1:]: print(run_command([command, 'bas']))\n"
    code += "print('dagster' in sys.modules, 'pipelines.cli.generate' in sys.modules)"
    line = [sys.executable, "-c", code, *BEGIN_WITH_A_VARIANT]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stderr.splitlines()
    assert len(told) == len(BEGIN_WITH_A_VARIANT)
    for sentence in told:
        assert "There is no recipe 'bas'" in sentence
        assert "there are base, " in sentence
        assert sentence.endswith(" Did you mean 'base'?")
    assert done.stdout.split() == [*("1" for _ in told), "False", "False"]


@pytest.mark.parametrize("words", [["recipe", "list"], ["recipe", "show", "demo"], ["recipe", "fields"]])
def test_what_prints_a_table_prints_json_with_the_keys_that_its_help_names(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0
    printed = cast(dict[str, object] | list[dict[str, object]], json.loads(result.output))
    told = " ".join(CliRunner().invoke(app, [*words, "--help"]).output.split())
    (named,) = re.findall(r"for other programs:\s+([^.:]*)", told)
    row = printed[0] if isinstance(printed, list) else printed
    assert {key for key in named.split(", ") if key} <= row.keys()


@pytest.mark.parametrize("variant", variants())
def test_every_recipe_is_shown_with_the_defaults_that_it_differs_from(variant: str) -> None:
    result = CliRunner().invoke(app, ["recipe", "show", variant])
    assert result.exit_code == 0
    assert f"variant: {variant}" in result.output


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_defect(tmp_path: Path, closed: str) -> None:
    command = f"{shlex.join(AMEMGYM)} recipe list {closed}"
    done = subprocess.run(["sh", "-c", command], env=clean_environment(tmp_path), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_who_has_enough_ends_a_command_without_a_word(tmp_path: Path) -> None:
    for words in (("recipe", "list"), ("recipe", "fields", "--json")):
        process = subprocess.Popen(
            [*AMEMGYM, *words], env=clean_environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == (b"", UNREAD)


@pytest.mark.parametrize("width", [60, 200])
def test_no_name_of_a_field_or_recipe_is_cut_whatever_the_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = CliRunner().invoke(app, ["recipe", "fields"]).output.splitlines()
    names = [field.path for field in recipe_fields(RECIPE_TYPES["amemgym"])]
    assert [line for line in lines if not line.startswith(" ")] == names
    monkeypatch.setenv("COLUMNS", "80")
    listed = CliRunner().invoke(app, ["recipe", "list"]).output
    assert all(variant in listed for variant in variants())


def test_a_recipe_file_that_cannot_be_used_is_told_by_the_list_alone(
    tmp_path: Path, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "demo.yaml").write_bytes((loading.RECIPES / "demo.yaml").read_bytes())
    (tmp_path / "recipes" / "spoiled.yaml").write_text("num_users: [", encoding="utf-8")
    monkeypatch.setattr(loading, "RECIPES", tmp_path / "recipes")
    assert "spoiled.yaml cannot be read" in amemgym_here(demo_home, "recipe", "list")[1]
    for command in (["plan", "demo"], ["doctor"], ["ledger"]):
        status, output = amemgym_here(demo_home, *command)
        assert (status, "spoiled" in output) == (0, False), output


def test_help_imports_no_command() -> None:
    code = "import sys, pipelines.cli.main as m; m.app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "pipelines.cli.main" in imported
    assert not imported & {"dagster", "pydantic", "pipelines.cli.generate", "pipelines.home"}


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise typer.Exit(3)", 3), ("raise KeyboardInterrupt", 130)])
def test_threads_end_temporary_folders_go_and_what_was_printed_arrives_before_the_process_ends_at_once(
    end: str, status: int, tmp_path: Path
) -> None:
    process = ended(end, tmp_path)
    assert process.returncode == status, process.stderr
    assert process.stdout == "to a buffer\nthe thread is done\n"
    assert not list(tmp_path.iterdir())


def test_an_error_that_nobody_foresaw_ends_with_one_sentence_and_a_report_without_secrets(tmp_path: Path) -> None:
    process = ended("raise RuntimeError('unforeseen, with sk-very-secret')", tmp_path, AMEMGYM_API_KEY="sk-very-secret")
    assert process.returncode == 1
    assert "Traceback" not in process.stderr
    (report,) = (tmp_path / "crashes").iterdir()
    assert f"(RuntimeError). The report is in {report}; everything finished so far is kept" in process.stderr
    assert "RuntimeError: unforeseen, with [hidden]" in report.read_text()


def test_a_report_of_an_error_names_no_folder_of_the_machine_and_no_secret_in_another_form(tmp_path: Path) -> None:
    login = base64.b64encode(b"otter:sk-very-secret").decode()
    words = f"raise RuntimeError('/home/quokka/notes.txt: Basic {login} and sk%2Dvery%2Dsecret')"
    ended(words, tmp_path, AMEMGYM_BASE_URL="http://otter:sk-very-secret@host/v1")
    (report,) = (tmp_path / "crashes").iterdir()
    text = report.read_text()
    assert "RuntimeError: notes.txt: Basic [hidden] and [hidden]" in text
    assert 'File "pipelines/cli/main.py"' in text
    assert str(ROOT) not in text


def test_a_step_that_fails_without_a_sentence_is_told_in_a_report_not_on_the_terminal() -> None:
    @dg.asset
    def fails() -> None:
        raise ValueError("unforeseen")

    problem = first_problem(dg.materialize([fails], raise_on_error=False))
    assert not isinstance(problem, user_errors())
    assert "ValueError: unforeseen" in str(problem)
    assert isinstance(problem, StepFailed)
    assert problem.kind == "ValueError"


def test_a_data_folder_that_is_none_ends_every_command_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words in (("show", "1"), ("generate", "demo"), ("doctor",)):
        status, output = amemgym_here(tmp_path / "file", *words)
        assert status == 1
        assert len(output.strip().splitlines()) == 1, output


def test_dates_that_no_calendar_has_end_with_one_sentence(tmp_path: Path) -> None:
    for value in ("9999-12-01", "2020-13-45"):
        status, output = amemgym_here(tmp_path, "generate", "demo", "--set", f"start_date={value}")
        assert status == 1
        assert "Traceback" not in output
        assert "start_date" in output


def test_a_taken_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, output = amemgym_here(tmp_path, "ui", "--port", str(taken.getsockname()[1]))
    assert (status, "choose another with --port" in output) == (1, True)


def test_a_host_without_an_address_is_told_apart_from_a_taken_port(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "model", "serve", "--host", "nowhere.invalid")
    assert (status, "choose another with --host" in " ".join(output.split())) == (1, True)


@pytest.mark.parametrize("words", [("show", "-1"), ("show", "--json", "-27"), ("regenerate", "-1", "--from", "answers")])
def test_an_item_below_the_first_is_told_in_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, *words)
    assert (status, len(output.strip().splitlines())) == (2, 1), output
    assert "numbered from 1 on" in output
    assert any(f"no number {word}." in output for word in words)


def test_a_wrong_option_beside_an_item_is_still_named(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "show", "--nope")
    assert (status, "No such option: --nope" in output) == (2, True)


def test_a_port_that_cannot_be_is_named(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "ui", "--port", "99999")
    assert (status, "less than or equal to 65535" in output) == (2, True)


def ended(end: str, folder: Path, **further: str) -> "subprocess.CompletedProcess[str]":
    """The process of a command that leaves a thread and a temporary folder behind and ends like this."""
    line = [sys.executable, "-c", ENDING.format(end=end), str(folder)]
    environment = clean_environment(folder, **further)
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def test_a_folder_of_recipes_that_has_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECIPES", tmp_path / "nowhere")
    status, output = amemgym_here(tmp_path, "recipe", "list")
    assert status == 1
    assert f"There is no recipe in {tmp_path / 'nowhere'}; check the folder in AMEMGYM_RECIPES." in " ".join(output.split())
