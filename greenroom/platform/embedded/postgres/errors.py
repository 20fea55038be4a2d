"""The error that all failures of the embedded PostgreSQL raise."""


class EmbeddedPostgresError(Exception):
    """The message says what failed and what to do next."""


def last_lines(text: str) -> str:
    """The end of a program's output, to be quoted in an error."""
    return "\n".join(text.strip().splitlines()[-5:]) or "no output"
