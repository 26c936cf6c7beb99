"""Problems that the user can mend."""


class Problem(Exception):
    """One sentence: what, where, what to do."""


def mendable() -> tuple[type[Exception], ...]:
    """The errors whose words are for the user; asked for when one occurs, because their modules take time to import."""
    from assets.llm.ports import EndpointError
    from pipelines.resources.storage.errors import StoreError

    return Problem, EndpointError, StoreError
