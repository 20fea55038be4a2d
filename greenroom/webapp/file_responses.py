"""Answers with a built file: gzip or plain, or 304 if the browser already has it."""

from collections.abc import Mapping

from greenroom.kernel.errors import NotFound
from greenroom.platform.http.endpoint import Answer, Call
from greenroom.webapp.files import File, Files

ASSETS = "app/assets/"
FOR_GOOD = "public, max-age=31536000, immutable"
"""For assets, whose names contain a hash of their contents."""
CHECK_EACH_TIME = "no-cache"
SHARED: Mapping[str, str] = {
    # Pages of other sites load the embed script and its assets, which are the same for everybody.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "vary": "Accept-Encoding",
}


def find_file(files: Files, name: str) -> File:
    """By its exact name. Raises NotFound; if no file is built at all, it says what to do."""
    if not files:
        raise NotFound("The web app is not built here: run `make web`, then start again.")
    found = files.get(name)
    if found is None:
        raise NotFound
    return found


def answer_file(call: Call, file: File, headers: Mapping[str, str]) -> Answer:
    form = file.form_for(call.header("accept-encoding"))
    about = {**headers, "etag": form.etag}
    if _has_it(call.header("if-none-match"), form.etag):
        return Answer(304, headers=about)
    if form.encoding is not None:
        about["content-encoding"] = form.encoding
    return Answer(200, form.body, about, file.content_type)


def _has_it(if_none_match: str | None, etag: str) -> bool:
    """Also true for a weak tag, which a proxy may have made of ours; enough for a GET."""
    if if_none_match is None:
        return False
    known = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return etag in known or "*" in known


def answer_asset(call: Call, files: Files) -> Answer:
    file = find_file(files, ASSETS + call.params["file"])
    return answer_file(call, file, {**SHARED, "cache-control": FOR_GOOD})
