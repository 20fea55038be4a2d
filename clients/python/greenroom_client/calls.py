"""Requests with the person's token; answers as JSON, or as exceptions."""

from typing import Any

import httpx

from greenroom_client.errors import BrokenOffError, Problem, UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.tokens import Tokens

_NOTHING_ANSWERS = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class Calls:
    def __init__(self, http: httpx.AsyncClient, tokens: Tokens, limits: ClientLimits) -> None:
        self.http = http
        self._tokens = tokens
        self._limits = limits

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: dict[str, Any] | None = None,
        wait_s: float = 0,
    ) -> Any:
        """The answer's JSON, None if it is empty. `wait_s`: how long the server may take its time.

        Raises Problem and UnreachableError. A token that was refused is replaced and the call made
        once more, if the application has another.
        """
        token = await self._tokens.get()
        answer = await self._request(method, path, token.header, body, params, wait_s)
        if answer.status_code == 401 and not self._tokens.is_fixed:
            self._tokens.refuse(token)
            token = await self._tokens.get()
            answer = await self._request(method, path, token.header, body, params, wait_s)
        if answer.is_success:
            return read_json(answer) if answer.content else None
        raise Problem.of_answer(answer.status_code, answer.headers, answer.content)

    async def _request(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: Any,
        params: dict[str, Any] | None,
        wait_s: float,
    ) -> httpx.Response:
        timeout = httpx.Timeout(
            self._limits.answer_timeout_s + wait_s, connect=self._limits.open_timeout_s
        )
        try:
            return await self.http.request(
                method, path, headers=headers, json=body, params=params, timeout=timeout
            )
        except httpx.TransportError as error:
            raise failure_of(error) from error


def failure_of(error: httpx.TransportError) -> UnreachableError:
    said = str(error) or type(error).__name__
    is_clear = isinstance(error, _NOTHING_ANSWERS)
    return UnreachableError(said) if is_clear else BrokenOffError(said)


def read_json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise BrokenOffError("an answer that is no JSON") from error
