"""How many calls the audit of one user takes, as far as the recipe decides them: for the forecast."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from assets.amemgym.answers.gates import answers_of_one_question, answers_per_call
from assets.amemgym.audits.judgements import GUESSES
from assets.amemgym.audits.labelled_probes import right_decoys
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, queries_per_call
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_trajectory.story_reading import texts_per_call
from assets.engine.stage import PromptCalls
from assets.llm.gate import independent_groups
from assets.recipe.amemgym import AMemGymRecipe

# Of answers under the nearest variant: mostly those of which the own one is taken out. Measured on the embedded model.
RECOVERED = 0.3


@dataclass(frozen=True)
class Sharing:
    """How texts of `sources`, such as periods or questions, share calls."""

    sources: int
    size: int
    of_one: int = 1

    def calls(self, texts: float) -> int:
        """Return the calls that show so many texts once, dealt evenly to the sources."""
        dealt = [range(source, round(texts), self.sources) for source in range(self.sources)]
        return len(independent_groups(dealt, size=self.size, of_one=self.of_one))


def _decoy_calls(recipe: AMemGymRecipe, gate: str, sharing: Sharing) -> int:
    """Return the calls on decoys: one vote on each wrong text that is refused, and as many as a right one takes."""
    wrong = recipe.num_decoys * recipe.gates.texts
    right = right_decoys(recipe)
    accepted = right
    if gate == "recovery":
        accepted += RECOVERED * wrong
    elif gate == "choice":
        # The first text of an item, whatever recovery said of it, and what recovery accepted.
        wrong = recipe.num_decoys + RECOVERED * (wrong - recipe.num_decoys)
    elif gate == "summary":
        right = accepted = min(right, recipe.num_periods)
    _, needed = recipe.gates.votes_for(gate)
    return sharing.calls(wrong + right) + (needed - 1) * sharing.calls(accepted)


def _story_calls(recipe: AMemGymRecipe) -> float:
    if not recipe.gates.consistency:
        return 0
    size = texts_per_call(recipe)
    events = recipe.num_periods * recipe.num_changes_per_period
    summary_calls = _decoy_calls(recipe, "summary", Sharing(recipe.num_periods, size))
    return summary_calls + _decoy_calls(recipe, "event", Sharing(events, size))


def _query_calls(recipe: AMemGymRecipe) -> float:
    sharing = Sharing(recipe.num_periods + 1, queries_per_call(recipe.gates), QUERIES_OF_ONE_PERIOD)
    return _decoy_calls(recipe, "exposure", sharing) + sharing.calls(recipe.audit.pairs)


def _answer_calls(recipe: AMemGymRecipe, gate: str) -> float:
    """Return the calls of a gate of answers: on pairs of a question and a period, and on decoys."""
    pairs = Sharing(recipe.num_questions, answers_per_call(recipe.gates), answers_of_one_question(recipe))
    decoys = Sharing(recipe.num_questions, recipe.gates.texts_per_call)
    decoy_calls = _decoy_calls(recipe, gate, decoys) if gate == "recovery" or recipe.gates.reverse else 0
    return pairs.calls(recipe.audit.pairs) + decoy_calls


def _guesses(recipe: AMemGymRecipe) -> float:
    shared = min(recipe.gates.texts_per_call, recipe.num_questions)
    return recipe.num_questions * recipe.audit.guesses / shared


def _if_enabled(count: Callable[[AMemGymRecipe], float]) -> PromptCalls:
    def per_item(recipe: AMemGymRecipe) -> float:
        return count(recipe) if recipe.audit.enabled else 0

    return PromptCalls(per_item, always=False)


OWN_READINGS = "session_queries/check_exposure"
AUDIT_CALLS = {
    **{f"audits/{probe}": _if_enabled(_guesses) for probe in GUESSES},
    "state_trajectory/check": _if_enabled(_story_calls),
    "session_queries/probe": _if_enabled(lambda recipe: _query_calls(recipe) if recipe.gates.unexposed else 0),
    # No shipped recipe asks it, so that nobody measured its tokens.
    OWN_READINGS: replace(
        SESSION_QUERIES.calls[OWN_READINGS],
        per_item=_if_enabled(lambda recipe: 0 if recipe.gates.unexposed else _query_calls(recipe)).per_item,
    ),
    "answers/check": _if_enabled(partial(_answer_calls, gate="recovery")),
    "answers/choose": _if_enabled(partial(_answer_calls, gate="choice")),
}
