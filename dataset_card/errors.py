"""Errors of releases and of the Hub; each message is one sentence for the user."""


class HubError(Exception):
    """Something the Hub did or holds that stops the work; the message is one sentence, free of secrets."""


class HubDenied(HubError):
    """The token, or its absence, does not allow this."""


class HubMissing(HubError):
    """No such repository, revision or file, or none that this token may see."""


class HubUnreachable(HubError):
    """No answer after several tries, or working offline. Nothing was changed by what was asked."""


class HubStale(HubError):
    """Something was there or had moved before this write, which therefore did nothing."""


class UnfitRelease(HubError):
    """The release, or the name it would get, cannot be published as it is."""


class PublishRefused(HubError):
    """The repository is not one that this release may be added to, or not under this version, or not as it is."""


class HubUncertain(HubError):
    """A write whose outcome is unknown: look again before doing anything else. `wait` is in seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
