"""The one error of the embedded PostgreSQL."""


class EmbeddedPostgresError(Exception):
    """What went wrong with the embedded PostgreSQL, and what to do next."""


def last_lines(text: str) -> str:
    """What a program said in the end, to be quoted in an error."""
    return "\n".join(text.strip().splitlines()[-5:]) or "it said nothing"
