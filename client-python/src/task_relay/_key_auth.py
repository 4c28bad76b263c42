from __future__ import annotations

import re
from collections.abc import Generator

import httpx


class KeyAuth(httpx.Auth):
    """Adds the key to a request when it is sent, so that no call, log or traceback of the client contains it."""

    def __init__(self, key: str, header: str) -> None:
        """Takes a key as an environment variable or a file has it, maybe with blanks around it.

        Raises ValueError when it cannot be a key. The message does not contain it.
        """
        bearer = key.strip() if isinstance(key, str) else ""
        if not re.fullmatch(r"[!-~]+", bearer):
            raise ValueError("key is no API key: it is empty, or has characters that a key cannot have")
        self._header = header
        self._value = f"Bearer {bearer}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers[self._header] = self._value
        yield request
