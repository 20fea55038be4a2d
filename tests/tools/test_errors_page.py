"""docs/errors.md tells every error as it is."""

import json
import re

from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.http.problems import problem_body
from tools.errors import PAGE, page, problems


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run `make errors`."


def test_every_error_is_on_it() -> None:
    for problem in problems():
        assert f"| {problem.status} | `{problem.code}` | {problem.title()} |" in page()


def test_the_example_is_what_the_server_answers() -> None:
    [example] = re.findall(r"```json\n(.*?)```", page(), re.DOTALL)
    shown = json.loads(example)
    assert problem_body(ThreadNotFound(), shown["corr_id"]) == shown
