"""Rules about seeded faults: both patches apply, they lead to different rules, and the faulty copy fails its hidden calls."""

from collections.abc import Iterator

from assets.code_repair.records import SeededFault
from assets.recipe.code_repair import CodeRepairRecipe
from validation.rules import Rule, expect


def patches_apply(seeded: SeededFault, _: CodeRepairRecipe) -> Iterator[str]:
    repair = seeded.repair
    text = next(file.text for file in repair.files if file.path == repair.path)
    for patch in repair.patches:
        count = text.count(patch.old)
        yield from expect(count == 1, f"{patch.old!r} is {count} times in {repair.path}")
    first, second = repair.patches
    yield from expect(first.rule != second.rule, f"both patches make {first.rule} hold")


def hidden_calls_tell_the_patches_apart(seeded: SeededFault, _: CodeRepairRecipe) -> Iterator[str]:
    repair = seeded.repair
    failing = [call for call in repair.hidden if call.arguments == repair.arguments]
    yield from expect(len(failing) == 1, f"{repair.call} is {len(failing)} times among the hidden calls")
    for call in failing:
        yield from expect(
            repair.rule.endswith(f" == {call.text}"), f"{repair.call} has to come to {call.text}, not {repair.rule}"
        )
        yield from expect(call.text != repair.fails_with, f"{repair.call} does not fail")


RULES = (
    Rule(
        "patches_apply",
        "Each patch changes one place of the faulty file, and they differ in the rule that holds.",
        patches_apply,
    ),
    Rule(
        "hidden_calls_tell_the_patches_apart",
        "The failing call is among the hidden calls, with the result of the settled rule.",
        hidden_calls_tell_the_patches_apart,
    ),
)
