"""`amemgym memory`, `gate` and `evolve`: check memories, gate their changes, and let their policies evolve."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Optional, TypeVar

import typer
from rich.console import Console

from assets.llm.async_calls import run_to_end
from assets.reporting.plurals import counted, is_or_are
from pipelines.cli.options import DatasetArgument, QuietOption, command_group, file_errors, json_option, option, options_of
from pipelines.cli.scoring.evaluate import RUN, SCORING, EvaluateOptions, evaluation_errors, evaluation_request, print_run
from pipelines.cli.scoring.replay import replay_sessions
from pipelines.cli.terminal import (
    LiveProgress,
    TextConsole,
    print_json,
    print_markdown,
    print_plain,
    prints_of_others_apart,
    stderr_console,
    stdout_console,
)
from pipelines.errors import Problem
from pipelines.evaluation.command import EvaluationProgress, run_evaluation
from pipelines.evaluation.folder import PAGE, find_run, runs_folder
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import MEMORY_CHECK
from pipelines.evaluation.run import Run
from pipelines.experiments.evolution.command import EvolutionProgress, EvolutionRequest, run_evolution
from pipelines.experiments.evolution.plan import EvolutionForecast, EvolutionPlan
from pipelines.experiments.evolution.records import EvolutionManifest
from pipelines.experiments.evolution.report import evolution_report
from pipelines.experiments.evolution.results import FinishedEvolution, evolutions_folder
from pipelines.experiments.scoring.gate import (
    baseline_of,
    chance_of_finding,
    comparable_settings,
    gate,
    gate_table,
    junit_report,
    read_baseline,
    refuse_few_users,
    refuse_other_settings,
)
from pipelines.home import home
from pipelines.memories.check import ContractVerdict, check_memory
from pipelines.memories.contract import MemoryTools
from pipelines.memories.registry import Confinement, find_memory
from pipelines.opening.models import open_models
from pipelines.redaction import public_address
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.reward.rows import reward_rows, write_reward_rows

W = TypeVar("W", bound=str)
app = command_group("Memories: check that your own memory keeps the contract.")
app.command("replay")(replay_sessions)


@app.command("check")
def hold_to_contract(
    memory: Annotated[str, typer.Argument(help="Name, FILE.py:CLASS, address of a service, or YAML file.")],
    model: Annotated[str, typer.Option(help="Model for the memory's own work.")] = "",
    embedding_model: Annotated[str, typer.Option(help="Model for its embeddings.")] = "",
    deadline: Annotated[int, typer.Option(min=1, help="Timeout of one call in seconds.")] = 20,  # a check writes little
    settle: Annotated[float, typer.Option(min=0, help="Seconds until its writes can be recalled.")] = 0.0,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run its code in this process, for debugging.")] = False,
    as_json: Annotated[bool, json_option("what", "broken", "sentence")] = False,
) -> None:
    """Check in seconds that a memory keeps the contract: independent copies, recalls that change nothing, types, deadlines."""
    options = EvaluationOptions(model=model, embedding_model=embedding_model, settle=settle, in_process=in_process)
    options.check()
    with prints_of_others_apart():
        verdicts = run_to_end(_checked(memory, options, deadline=deadline))
    if as_json:
        print_json(verdicts)
    else:
        for verdict in verdicts:
            print_plain(stdout_console(), f"{verdict.word:6}  {verdict.what}. {verdict.sentence}".rstrip())
    broken = sum(verdict.broken for verdict in verdicts)
    if broken:
        raise Problem(f"{public_address(memory)} breaks the contract in {counted(broken, 'point')}: see above.")


@app.command("rows")
def write_rows(
    runs: Annotated[list[str], typer.Argument(help=RUN)],
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    as_json: Annotated[bool, json_option("file", "rows", "labelled")] = False,
) -> None:
    """Write the rows from which a reward model of memories is trained. `amemgym reward train` trains ours on such rows."""
    if out.suffix != ".parquet":
        raise Problem(f"{out} does not end in .parquet; rows are written only as Parquet.")
    found = reward_rows(list(map(partial(find_run, runs=runs_folder(home())), runs)))
    with file_errors(f"{out} cannot be written"):
        write_reward_rows(out, found)
    labelled = sum(row.kept is not None for row in found)
    if as_json:
        print_json({"file": str(out), "rows": len(found), "labelled": labelled})
        return
    sentence = f"{counted(len(found), 'row')}, {labelled:,} of them with a label, {is_or_are(len(found))} in {out}."
    print_plain(TextConsole(stderr=True), sentence)


async def _checked(source: str, options: EvaluationOptions, *, deadline: float) -> list[ContractVerdict]:
    spec = find_memory(source)
    with open_models(home()) as models:
        names = options.models(("memory", "embedding"), embedded=models.embedded)
        ports = models.for_account(MEMORY_CHECK)
        tools = MemoryTools(ports.chat, ModelEmbedder(ports.embeddings), names["memory"], names["embedding"], options.seed)
        confinement = Confinement(options.in_process, (home().root,))
        return await check_memory(spec, tools, deadline=deadline, settle=options.settle, confinement=confinement)


@dataclass(frozen=True, kw_only=True)
class EvolveOptions:
    """Options of an evolution, in addition to those of the evaluations in it."""

    feedback: str = option(
        "Conditions: which feedback a policy is improved with; one or several.", "none,question-only,complete"
    )
    protocol: str = option(
        "paper: users learn from their own questions; held-out: one policy, new users and questions.", "paper,held-out"
    )
    cycle: Literal["period", "episode"] = option("When a policy may change: after each period or after each episode.", "period")
    cycles: int = option("Number of episodes, with --cycle episode.", 4)
    held_out_users: float = option("Share of users who give no feedback.", 0.3, most=1)
    held_out_questions: float = option("Share of the other users' questions that give no feedback.", 0.3, most=1)
    feedback_questions: int = option("Most questions in the feedback of one cycle.", 40)
    most_characters: int = option("Most characters of an improved policy.", 6000)
    improver_model: str = option("Model that rewrites policies; the memory's by default.")


@options_of(EvolveOptions, keyword="plan", panel="Evolution")
@options_of(EvaluateOptions, keyword="options")
def evolve_memory(
    dataset: DatasetArgument,
    memory: Annotated[
        str, typer.Option(help="Name, FILE.py:CLASS or YAML file of a memory with a policy, such as awi.")
    ] = "awi",
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("page", "manifest", "results")] = False,
    *,
    plan: EvolveOptions,
    options: EvaluateOptions,
) -> None:
    """Let a memory's policy evolve through feedback, and distinguish learning from leaking. Run it again to continue."""
    if options.replay:
        raise Problem("An evolving memory leads its own dialogues; leave --replay out.")
    request = evaluation_request(dataset, options, memory=memory)
    console = stderr_console()
    with evaluation_errors(), prints_of_others_apart():
        evolution = _evolve(EvolutionRequest(request, plan_of(plan)), console, quiet=quiet)
    page = evolutions_folder(home()) / evolution.manifest.run.run_id / PAGE
    if as_json:
        print_json({"page": str(page), "manifest": evolution.manifest, "results": evolution.results})
        return
    print_markdown(evolution_report(evolution))
    print_plain(console, f"Page: {page}")


def plan_of(chosen: EvolveOptions) -> EvolutionPlan:
    """Return the evolution's plan. Raises Problem for a count below 1, or shares that leave nothing to do."""
    if not (chosen.cycles and chosen.feedback_questions and chosen.most_characters):
        raise Problem("--cycles, --feedback-questions and --most-characters must be 1 or more.")
    usual = EvolutionPlan()
    return EvolutionPlan(
        feedbacks=_chosen("--feedback", chosen.feedback, usual.feedbacks),
        protocols=_chosen("--protocol", chosen.protocol, usual.protocols),
        cycle=chosen.cycle,
        cycles=chosen.cycles,
        held_out_users=chosen.held_out_users,
        held_out_questions=chosen.held_out_questions,
        feedback_questions=chosen.feedback_questions,
        most_characters=chosen.most_characters,
        improver=chosen.improver_model,
    )


def _chosen(option: str, text: str, allowed: tuple[W, ...]) -> tuple[W, ...]:
    """Return the values of a comma-separated option, in the order of `allowed`. Raises Problem for an unknown value."""
    chosen = list(map(str.strip, text.split(",")))
    for word in chosen:
        if word not in allowed:
            raise Problem(f"{option} {word!r} is not known; give one or several of {','.join(allowed)}.")
    return tuple(word for word in allowed if word in chosen)


def _evolve(request: EvolutionRequest, console: Console, *, quiet: bool) -> FinishedEvolution:
    with LiveProgress(console, quiet=quiet, after=SCORING) as live:

        def begun(manifest: EvolutionManifest, size: EvolutionForecast) -> None:
            print_plain(console, f"{manifest.run.run_id}: {size.sentence} {size.warning(request.evaluation.budget)}".strip())

        progress = EvolutionProgress(begun, live.show, partial(print_plain, console))
        return run_to_end(run_evolution(request, home=home(), progress=progress))


@options_of(EvaluateOptions, keyword="options", panel="Options of the evaluation")
def gate_memory(
    memory: Annotated[str, typer.Argument(help="Name of a memory, FILE.py:CLASS, the address of a service, or a YAML file.")],
    on: Annotated[str, typer.Option(help="A variant with a release, a release folder, OWNER/NAME@TAG, or a data.json.")],
    against: Annotated[Optional[Path], typer.Option(help="Baseline that the memory must not fall below.")] = None,
    write: Annotated[Optional[Path], typer.Option(help="File to write this run's score to, as a baseline.")] = None,
    tolerance: Annotated[
        float, typer.Option(help="Most that the score may fall and still pass, as in 0.01.", min=0, max=1)
    ] = 0.0,
    loss: Annotated[
        float,
        typer.Option(help="A loss of score; the chance that the gate finds such a loss is printed first.", min=0.001, max=1),
    ] = 0.05,
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
        _write(write, baseline_of(run).model_dump_json(indent=1) + "\n")
        print_plain(console, f"Baseline: {write}. Keep it with the memory's code.")
    if baseline is None:
        return
    result = gate(run, baseline, tolerance=tolerance)
    table = gate_table(result, users=len(baseline.users))
    verdict = result.problem or "The memory is no worse than its baseline."
    if markdown:
        _write(markdown, f"{table}\n\n{verdict}\n")
    if junit:
        _write(junit, junit_report(result, comparable_settings(run.manifest)))
    if as_json:
        print_json({"run_id": run.manifest.run_id, "checks": result.checks, "problem": result.problem})
    else:
        print_markdown(table)
    if result.problem:
        raise Problem(result.problem)
    if not as_json:
        print_plain(console, verdict)


def _write(path: Path, text: str) -> None:
    """Write a file that an option names. Raises Problem if it cannot be written."""
    with file_errors(f"{path} cannot be written"):
        path.write_text(text, encoding="utf-8")
