"""What the client sends, apart from how it is sent.

Each method of the client is written once, as a flow: a generator that yields calls and pauses. `TaskRelay` performs
them one after the other, `AsyncTaskRelay` awaits them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

import httpx

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request to the relay, without its key."""

    method: str
    url: httpx.URL
    answer_within_s: float
    """Longest wait for each part of the answer, in seconds."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    key_header: Literal["Authorization", "Relay-Key"] = "Authorization"
    """Header in which the relay gets its key."""


@dataclass(frozen=True)
class Pause:
    """A wait before the next call."""

    seconds: float


Outcome: TypeAlias = httpx.Response | httpx.TransportError
"""What became of a call: the answer, or why there is none."""

Flow: TypeAlias = Generator[Call | Pause, Outcome | None, T]


def sent(call: Call) -> Flow[Outcome]:
    """Sends a call once."""
    outcome = yield call
    if outcome is None:
        raise RuntimeError("a call has no outcome")
    return outcome


def paused(seconds: float) -> Flow[None]:
    yield Pause(seconds)
