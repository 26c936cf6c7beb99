"""`amemgym gate`: a check for a memory's own repository, with an exit status."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from assets.llm.async_calls import run_to_end
from pipelines.cli.evaluate import SCORING, EvaluateOptions, evaluation_errors, evaluation_request, print_run
from pipelines.cli.options import QuietOption, file_errors, json_option, options_of
from pipelines.cli.terminal import LiveProgress, print_json, print_markdown, print_plain, prints_of_others_apart, stderr_console
from pipelines.errors import Problem
from pipelines.evaluation.command import EvaluationProgress, run_evaluation
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.run import Run
from pipelines.experiments.scoring.gate import (
    baseline_of,
    chance_of_finding,
    gate,
    gate_table,
    junit_report,
    read_baseline,
    refuse_few_users,
    refuse_other_settings,
    settings_of,
)
from pipelines.home import home


@options_of(EvaluateOptions, keyword="options", panel="Options of the evaluation")
def gate_memory(
    memory: Annotated[str, typer.Argument(help="Name of a memory, FILE.py:CLASS, the address of a service, or a YAML file.")],
    on: Annotated[str, typer.Option(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")],
    against: Annotated[Optional[Path], typer.Option(help="Baseline that the memory must not fall below.")] = None,
    write: Annotated[Optional[Path], typer.Option(help="File to write this run's score to, as a baseline.")] = None,
    tolerance: Annotated[float, typer.Option(help="Fall of the score that passes, as in 0.01.", min=0, max=1)] = 0.0,
    loss: Annotated[float, typer.Option(help="Loss whose chance to be found is printed first.", min=0.001, max=1)] = 0.05,
    junit: Annotated[Optional[Path], typer.Option(help="File for the result as JUnit's XML.")] = None,
    markdown: Annotated[Optional[Path], typer.Option(help="File for the result as Markdown.")] = None,
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("run_id", "checks", "problem")] = False,
    *,
    options: EvaluateOptions,
) -> None:
    """Check that a changed memory is no worse than before: exit status 0 or 1, one table, files for CI."""
    if against is None and write is None:
        raise Problem("Give --write baseline.json once, keep that file, and then --against baseline.json.")
    baseline = read_baseline(against) if against else None
    console = stderr_console()
    notice = partial(print_plain, console)

    def begun(run: Run, size: EvaluationForecast) -> None:
        refuse_few_users(run.manifest)
        if baseline:
            refuse_other_settings(baseline, run.manifest)
            found = chance_of_finding(loss, baseline, tolerance=tolerance, seed=run.manifest.seed)
            notice(
                f"A loss of {loss:g} that hits answers by chance is found {100 * found:.0f} times out of 100 with these "
                f"{len(baseline.users)} {run.manifest.noun}s."
            )
        print_run(run, "" if run.folder.finished else size.sentence, console=console, notice=notice)

    # Only what the checks need: diagnosis, the paper's baselines and everything that was told cost two thirds of a run.
    request = evaluation_request(on, replace(options, conditions="none,facts", probes="none"), memory=memory)
    request = replace(request, options=replace(request.options, baselines=False))
    with evaluation_errors(), prints_of_others_apart(), LiveProgress(console, quiet=quiet, after=SCORING) as live:
        run = run_to_end(run_evaluation(request, home=home(), progress=EvaluationProgress(begun, live.show, notice)))
    if write:
        with file_errors(f"{write} cannot be written"):
            write.write_text(baseline_of(run).model_dump_json(indent=1) + "\n", encoding="utf-8")
        print_plain(console, f"Baseline: {write}. Keep it with the memory's code.")
    if baseline is None:
        return
    result = gate(run, baseline, tolerance=tolerance)
    table = gate_table(result, users=len(baseline.users))
    verdict = result.problem or "The memory is no worse than its baseline."
    for path, text in (
        (markdown, f"{table}\n\n{verdict}\n"),
        (junit, junit_report(result, settings_of(run.manifest))),
    ):
        if path:
            with file_errors(f"{path} cannot be written"):
                path.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"run_id": run.manifest.run_id, "checks": result.checks, "problem": result.problem})
    else:
        print_markdown(table)
    if result.problem:
        raise Problem(result.problem)
    if not as_json:
        print_plain(console, verdict)
