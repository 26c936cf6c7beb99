"""`amemgym memory` and `gate`: check memories, and gate their changes."""

from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from assets.llm.async_calls import run_to_end
from assets.reporting.plurals import counted
from pipelines.cli.options import QuietOption, check_writable, command_group, file_errors, json_option
from pipelines.cli.scoring.evaluate import SCORING, evaluation_errors, print_run
from pipelines.cli.scoring.run_options import evaluation_options
from pipelines.cli.terminal import (
    LiveProgress,
    print_json,
    print_markdown,
    print_plain,
    prints_of_others_apart,
    stderr_console,
    stdout_console,
)
from pipelines.errors import Problem
from pipelines.evaluation.command import EvaluationProgress, EvaluationRequest, run_evaluation
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import MEMORY_CHECK
from pipelines.evaluation.run import Run
from pipelines.experiments.scoring.gate import (
    baseline_of,
    comparable_settings,
    gate,
    gate_table,
    junit_report,
    read_baseline,
    refuse_few_users,
    refuse_other_settings,
    refuse_overwriting,
)
from pipelines.experiments.scoring.power import Power
from pipelines.home import home
from pipelines.memories.check import ContractVerdict, check_memory
from pipelines.memories.hosting.confinement import Confinement
from pipelines.memories.registry import find_memory
from pipelines.memories.tools import MemoryTools
from pipelines.opening.models import open_models
from pipelines.redaction import public_address
from pipelines.resources.llm.embeddings import ModelEmbedder

app = command_group("Memories: check that your own memory keeps the contract.")


@app.command("check")
def hold_to_contract(
    memory: Annotated[str, typer.Argument(help="Name, FILE.py:CLASS, address of a service, or YAML file.")],
    model: Annotated[str, typer.Option(help="Model for the memory's own work.")] = "",
    embedding_model: Annotated[str, typer.Option(help="Model for its embeddings.")] = "",
    more_models: Annotated[str, typer.Option(help="Further models that it may ask, separated by commas.")] = "",
    deadline: Annotated[int, typer.Option(min=1, help="Timeout of one call in seconds.")] = 20,  # a check writes little
    settle: Annotated[float, typer.Option(min=0, help="Seconds until its writes can be recalled.")] = 0.0,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run its code in this process, for debugging.")] = False,
    as_json: Annotated[bool, json_option("what", "broken", "sentence", "untried")] = False,
) -> None:
    """Check in seconds that a memory keeps the contract: independent copies, recalls that change nothing, types, deadlines."""
    options = EvaluationOptions(
        model=model,
        embedding_model=embedding_model,
        more_models=tuple(filter(None, more_models.split(","))),
        settle=settle,
        in_process=in_process,
    )
    options.check()
    with prints_of_others_apart():
        verdicts = run_to_end(_check_contract(memory, options, deadline=deadline))
    if as_json:
        print_json(verdicts)
    else:
        for verdict in verdicts:
            print_plain(stdout_console(), f"{verdict.word:9}  {verdict.what}. {verdict.sentence or verdict.untried}".rstrip())
    broken = sum(verdict.broken for verdict in verdicts)
    if broken:
        raise Problem(f"{public_address(memory)} breaks the contract in {counted(broken, 'point')}: see above.")


async def _check_contract(source: str, options: EvaluationOptions, *, deadline: float) -> list[ContractVerdict]:
    spec = find_memory(source)
    with open_models(home()) as models:
        names = options.models(("memory", "embedding"), embedded=models.embedded)
        ports = models.for_account(MEMORY_CHECK)
        tools = MemoryTools(
            ports.chat,
            ModelEmbedder(ports.embeddings),
            names["memory"],
            names["embedding"],
            options.seed,
            options.more_models,
        )
        confinement = Confinement(options.in_process, (home().root,))
        return await check_memory(spec, tools, deadline=deadline, settle=options.settle, confinement=confinement)


@evaluation_options(panel="Options of the evaluation")
def gate_memory(
    memory: Annotated[str, typer.Argument(help="Name of a memory, FILE.py:CLASS, the address of a service, or a YAML file.")],
    on: Annotated[str, typer.Option(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")],
    against: Annotated[Optional[Path], typer.Option(help="Baseline that the memory must not fall below.")] = None,
    write: Annotated[Optional[Path], typer.Option(help="File to write this run's score to, as a baseline.")] = None,
    margin: Annotated[
        float,
        typer.Option(
            help="A loss of score that matters; the chance that the gate finds it is printed first.", min=0.001, max=1
        ),
    ] = 0.05,
    junit: Annotated[Optional[Path], typer.Option(help="File for the result as JUnit's XML.")] = None,
    markdown: Annotated[Optional[Path], typer.Option(help="File for the result as Markdown.")] = None,
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("run_id", "margin", "checks", "problem")] = False,
    *,
    options: EvaluationOptions,
) -> None:
    """Check whether a changed memory is worse than before: exit status 1 if it is, one table, files for CI."""
    if against is None and write is None:
        raise Problem("Give --write baseline.json once, keep that file, and then --against baseline.json.")
    baseline = read_baseline(against) if against else None
    before = read_baseline(write) if write and write.is_file() else None
    for path in filter(None, (write, junit, markdown)):
        check_writable(path)
    console = stderr_console()
    notice = partial(print_plain, console)

    def announce(run: Run, size: EvaluationForecast) -> None:
        refuse_few_users(run.manifest)
        if write and before:
            refuse_overwriting(write, before, run.manifest)
        if baseline:
            refuse_other_settings(baseline, run.manifest)
            for sentence in Power.of(baseline).sentences(margin, noun=baseline.noun):
                notice(sentence)
        print_run(run, "" if run.folder.finished else size.sentence, console=console, notice=notice)

    # Only what the checks need: diagnosis, the paper's baselines and everything that was told cost two thirds of a run.
    fewest = options.model_copy(update={"conditions": ("none", "facts"), "probes": "none", "baselines": False})
    request = EvaluationRequest(on, memory, fewest, budget=options.budget)
    with evaluation_errors(), prints_of_others_apart(), LiveProgress(console, quiet=quiet, after=SCORING) as live:
        run = run_to_end(run_evaluation(request, home=home(), progress=EvaluationProgress(announce, live.show, notice)))
    if write:
        written = baseline_of(run, before)
        _write(write, written.model_dump_json(indent=1) + "\n")
        print_plain(console, f"Baseline of {counted(len(written.runs), 'run')}: {write}. Keep it with the memory's code.")
    if baseline is None:
        return
    result = gate(run, baseline, margin=margin)
    if markdown:
        _write(markdown, f"{gate_table(result)}\n\n{result.problem or result.sentence}\n")
    if junit:
        _write(junit, junit_report(result, comparable_settings(run.manifest)))
    if as_json:
        print_json({"run_id": run.manifest.run_id, "margin": margin, "checks": result.checks, "problem": result.problem})
    else:
        print_markdown(gate_table(result))
    if result.problem:
        raise Problem(result.problem)
    if not as_json:
        print_plain(console, result.sentence)


def _write(path: Path, text: str) -> None:
    """Write a file that an option names. Raises Problem if it cannot be written."""
    with file_errors(f"{path} cannot be written"):
        path.write_text(text, encoding="utf-8")
