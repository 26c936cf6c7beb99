"""`python -m tests.bench.lives [DATA_JSON]`: how convincing the lives of the embedded model are, with examples.

DATA_JSON is a release's `data.json`; without one `base` is generated. What a measure means stands in `MEASURES`. The bank
tells which topic a question or a request belongs to, and the table of plausibility what excludes what: a conflict that
nobody entered there is not found.
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from assets.amemgym.records.episode import Episode
from assets.text.words import count_tokens
from dataset_card.amemgym.reference.data_json import read_data_json
from pipelines.embedded.amemgym.plausibility import exclusive_pairs, parse_profile, unfit_values
from pipelines.embedded.bank import Topic, load_bank
from tests.bench.runs import Row, generate

EXAMPLES = 3
STOCK_BRIDGE = re.compile(  # words that join an utterance's sentences, or announce its subject, and say nothing else
    r"\b(?:I could use some advice on|I have a question about|I've been thinking about|Here is where things stand with"
    r"|With that in mind|Given that,|Now I wonder:|My question:|So, \w|(?:About|A question about|On the subject of) [^.?:]+:"
    r"|I(?:'m)? ask(?:ing)? because|Some background:|Some news from me:)"
)


@dataclass(frozen=True)
class Findings:
    """What was found among so many, each case in words."""

    among: int
    cases: Sequence[str]

    @property
    def percent(self) -> float:
        return 100 * len(self.cases) / max(1, self.among)


def conflicting_states(episodes: Sequence[Episode]) -> Findings:
    states = [(one, period.state) for one in episodes for period in one.periods]
    cases = [
        f"{one.user_profile.name}: {held[0]}"
        for one, state in states
        if (held := exclusive_pairs({name: (value,) for name, value in state.items()}))
    ]
    return Findings(len(states), cases)


def unfit_states(episodes: Sequence[Episode]) -> Findings:
    states = [(one, period.state) for one in episodes for period in one.periods]
    cases = [
        f"{one.user_profile.name}: {unfit}"
        for one, state in states
        if (
            unfit := unfit_values(
                {name: (value,) for name, value in state.items()}, parse_profile(one.user_profile.formatted_str)
            )
        )
    ]
    return Findings(len(states), cases)


def sessions_off_topic(episodes: Sequence[Episode]) -> Findings:
    """Noise may be about anything."""
    queries = [
        (one, session.query)
        for one in episodes
        for period in one.periods
        for session in period.sessions
        if not session.is_noise
    ]
    cases = [
        f"{one.user_profile.name}, who asks about {sorted(own)}: {query}"
        for one, query in queries
        if not (own := asked_topics(one)) & {topic.topic for topic in requested_topics(query)}
    ]
    return Findings(len(queries), cases)


def asked_topics(episode: Episode) -> set[str]:
    """The topics of a user's questions."""
    known = load_bank().topic_of_question
    return {known[question.query].topic for question in episode.questions if question.query in known}


def requested_topics(query: str) -> list[Topic]:
    """The topics of which the query makes a request."""
    return [topic for topic in load_bank().topics if any(request in query for request in topic.requests)]


def stock_bridges(episodes: Sequence[Episode]) -> Findings:
    queries = [query for one in episodes for query in _queries(one)]
    return Findings(len(queries), [query for query in queries if STOCK_BRIDGE.search(query)])


def repeated_questions(episodes: Sequence[Episode]) -> Findings:
    asked = Counter(query for one in episodes for query in {question.query for question in one.questions})
    cases = [text for text, users in asked.items() for _ in range(users) if users > 1]
    return Findings(asked.total(), cases)


def values_taken_up_again(episodes: Sequence[Episode]) -> Findings:
    updates = [
        (one, update, {past.state[update.variable] for past in one.periods[:index]})
        for one in episodes
        for index, period in enumerate(one.periods)
        for update in period.updates
    ]
    cases = [f"{one.user_profile.name}: {update.variable}, {update.new}" for one, update, had in updates if update.new in had]
    return Findings(len(updates), cases)


def _queries(episode: Episode) -> list[str]:
    return [session.query for period in episode.periods for session in period.sessions]


Measure = Callable[[Sequence[Episode]], Findings]
MEASURES: tuple[tuple[str, Measure], ...] = (
    ("period states that hold two values which exclude each other", conflicting_states),
    ("period states with a value that age or place deny", unfit_states),
    ("sessions whose request is on no topic of the user's questions", sessions_off_topic),
    ("sessions with a stock bridge", stock_bridges),
    ("questions that another user asks word for word", repeated_questions),
    ("updates back to a value of an earlier period", values_taken_up_again),
)


def query_tokens(episodes: Sequence[Episode]) -> float:
    """The mean length of session queries; the paper's are about 21 tokens."""
    return fmean(count_tokens(query) for one in episodes for query in _queries(one))


def lives(folder: Path) -> list[Row]:
    """All measures of `base`, in percent."""
    episodes = generated_base(folder)
    rows: list[Row] = [(f"embedded base: {name}", measure(episodes).percent, "%") for name, measure in MEASURES]
    return [*rows, ("embedded base: mean length of a session query", query_tokens(episodes), "tokens")]


def generated_base(folder: Path) -> list[Episode]:
    run = generate(folder, "base")
    return read_data_json(next(run.folder.glob("releases/base/*/base/data.json")))


def main() -> None:
    """Print every measure with examples."""
    if len(sys.argv) > 1:
        episodes = read_data_json(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            episodes = generated_base(Path(place))
    for name, measure in MEASURES:
        found = measure(episodes)
        print(f"{found.percent:5.1f} %  {name} ({len(found.cases)} of {found.among})")
        for case in list(dict.fromkeys(found.cases))[:EXAMPLES]:
            print(f"            {case}")
    print(f"{query_tokens(episodes):5.1f}    tokens in a session query, on average")


if __name__ == "__main__":
    main()
