"""`make errors`: docs/errors.md with every error that a client can get."""

from pathlib import Path

from greenroom import bootstrap
from greenroom.kernel.errors import Problem
from greenroom.platform.http.problems import known_problems

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"

HEAD = """\
# Errors

Every error is an RFC 9457 problem document (`application/problem+json`):

```json
{
  "type": "/docs#THREAD_NOT_FOUND",
  "title": "There is no such thread",
  "status": 404,
  "code": "THREAD_NOT_FOUND",
  "detail": "There is no such thread",
  "hint": "It does not exist, or you are not in it.",
  "corr_id": "cor_018f3c5d2a1b7k2m9q4r8t1w5y"
}
```

- Decide by `code`; it does not change between versions. `detail` is about this case, `hint` says
  what to do. Some errors carry more: `ACTION_STALE_VERSION` has the current `card`.
- `corr_id` is also in the header `X-Correlation-Id` and in the server's log. Give it to whoever
  runs the server.
- What a caller may not see is answered like what does not exist: 404 with the same body.
- Over WebSocket the same fields come in a frame of type `error` ([realtime](realtime.md)).

## When to repeat

| status | repeat? |
|---|---|
| 408, 429, 503 | yes, after the seconds in `Retry-After` |
| no answer, 500, 502, 504 | yes, with a growing random pause |
| 401 | once, with a fresh token |
| every other 4xx | no: change the request first |

Repeat the same request under the same `client_id` or `Idempotency-Key`: it has no second effect.

## All errors

"""

FOOT = """
This page is written by `make errors` from the error classes in `greenroom/kernel/errors.py` and
`greenroom/platform/http/problems.py`.
"""


def main() -> None:
    PAGE.write_text(page())
    print(f"wrote {PAGE}")


def page() -> str:
    rows = "\n".join(_row(each) for each in problems())
    table = f"| status | code | meaning | what to do |\n|---|---|---|---|\n{rows}\n"
    return HEAD + table + FOOT


def problems() -> list[type[Problem]]:
    """Those of the product: importing the composition root has loaded every room."""
    package = bootstrap.__name__.partition(".")[0]
    return [each for each in known_problems() if each.__module__.startswith(f"{package}.")]


def _row(problem: type[Problem]) -> str:
    cells = (str(problem.status), f"`{problem.code}`", problem.title(), problem.hint)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
