"""Why a job ends without renditions."""

from greenroom.files.media.job import Reason, State


class RefusalError(Exception):
    """The upload cannot become a file that others get; `detail` is for operators."""

    def __init__(self, reason: Reason, detail: str = "", *, state: State = "refused") -> None:
        super().__init__(reason, detail)
        self.reason: Reason = reason
        self.detail = detail
        self.state: State = state
