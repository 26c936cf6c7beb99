"""Noise in the reference's shape: what it exposes is kept, and of its kinds what can be told from that."""

from dataset_card.amemgym.reference.data_json import episode_from_reference, to_reference
from tests.validation.clean_set import clean_set


def test_a_session_of_noise_is_read_again_with_what_it_exposes() -> None:
    for episode in clean_set().rows("episodes"):
        again = episode_from_reference(to_reference(episode))
        for period, read in zip(episode.periods, again.periods, strict=True):
            assert [(one.session_time, one.event, one.exposed_states, one.query) for one in period.sessions] == [
                (one.session_time, one.event, one.exposed_states, one.query) for one in read.sessions
            ]
            assert [one.kind if one.exposed_states else "unrelated" for one in period.sessions] == [
                one.kind for one in read.sessions
            ]
    kinds = {one.kind for episode in clean_set().rows("episodes") for period in episode.periods for one in period.sessions}
    assert kinds == {"tells", "unrelated", "restates", "of_another", "not_now"}
