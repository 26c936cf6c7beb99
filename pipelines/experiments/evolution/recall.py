"""Memory factual recall (App. E): which of a period's new facts the memory at its end bears out, judged by a model."""

from collections.abc import Mapping, Sequence

from assets.llm.reply_schema import Shape, one_of_each
from assets.llm.structured_output import Ask, ask
from assets.records.failure import UserFailed
from pipelines.evaluation.context import Life, Step
from pipelines.evaluation.spending import Toll
from pipelines.experiments.evolution.feedback import told_in
from pipelines.experiments.evolution.records import Fact, Recalled, Verdict
from prompts.catalogue import load_prompt


async def check_recall(life: Life, *, state: bytes, period: int, arm: str, cycle: int) -> Recalled:
    """Every value that the user let be known in the period, with a verdict; the memory is what the assistant looks up.

    What still stands in a short-term memory is not yet kept, and so does not count.
    """
    step, episode = life.step(), life.episode
    told = told_in(episode, [period], variables=frozenset(episode.state_schema.choices))
    copy = step.assistant("recall", state)
    memory = await copy.memories("; ".join(name.replace("_", " ") for name in told))
    verdicts = await _verdicts(step, memory, told)
    facts = [
        Fact(
            arm=arm,
            cycle=cycle,
            user_id=episode.user_id,
            period=period,
            variable=name,
            value=value,
            supported=verdicts.get(name, "unscored"),
        )
        for name, value in told.items()
    ]
    return Recalled(facts=tuple(facts), toll=Toll(spending=step.spending))


async def _verdicts(step: Step, memory: Sequence[str], told: Mapping[str, str]) -> dict[str, Verdict]:
    """The judge's verdicts by variable, none where it could not be understood. An empty memory needs no judge."""
    if not memory or not told:
        return dict.fromkeys(told, "no")
    claims = {str(number): f"{name}: {value}" for number, (name, value) in enumerate(told.items(), start=1)}
    prompt = load_prompt("evaluation/check_memory").render(memory="\n".join(memory), claims=claims)
    shape: Shape[dict[str, Verdict]] = Shape(one_of_each(dict.fromkeys(claims, ("yes", "no"))))
    try:
        found = await ask(step.model("recall"), Ask(prompt, shape, lambda reply: reply), recipe=step.run.recipe)
    except UserFailed:
        return {}
    return {name: found[number] for number, name in zip(claims, told, strict=True)}
