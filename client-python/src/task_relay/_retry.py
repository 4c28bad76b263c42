from __future__ import annotations

import random
import time
from dataclasses import replace
from math import inf

import httpx

from ._flow import Call, Flow, Outcome, paused, sent
from ._problem import problem_of, retry_after_s

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0


def retrying(call: Call, for_s: float, *, is_repeatable: bool = True) -> Flow[httpx.Response]:
    """Sends a call, and again after a failure, until `for_s` seconds after the first failure.

    Raises httpx.TransportError when no answer came, and RelayProblem for a web page in place of an answer.
    """
    response = yield from retrying_until(inf, call, for_s, is_repeatable=is_repeatable)
    if response is None:
        raise RuntimeError("a time without an end is up")
    return response


def retrying_until(
    end_at: float, call: Call, for_s: float, *, is_repeatable: bool = True
) -> Flow[httpx.Response | None]:
    """Sends a call that was answered with 429 again, and where it may be repeated, one that was lost or answered with
    5xx, or whose submission is in flight: after `Retry-After`, or after growing pauses.

    Returns None when the clock `time.monotonic` has reached `end_at` before there is an answer.
    """
    give_up_at = inf
    failures = 0
    while True:
        left_s = end_at - time.monotonic()
        if left_s <= 0:
            return None
        outcome = yield from sent(replace(call, answer_within_s=min(call.answer_within_s, left_s)))
        pause_s = _pause_after(outcome, failures, is_repeatable)
        if pause_s is None:
            return _settled(outcome)
        now = time.monotonic()
        if now + pause_s >= end_at:
            yield from paused(max(0.0, end_at - now))
            return None
        # That a submission is in flight is no failure.
        is_waiting = _is_in_flight(outcome)
        until = now + for_s if is_waiting else min(give_up_at, now + for_s)
        if now + pause_s > until:
            return _settled(outcome)
        give_up_at = inf if is_waiting else until
        yield from paused(pause_s)
        failures += 1


def _pause_after(outcome: Outcome, failures: int, is_repeatable: bool) -> float | None:
    """Returns the wait before the next try in seconds; None when there is no further try."""
    grown_s = min(_FIRST_PAUSE_S * 2.0 ** min(failures, 10), _LONGEST_PAUSE_S)
    jittered_s = grown_s * (0.5 + random.random() / 2)
    if isinstance(outcome, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return None
    if isinstance(outcome, httpx.TransportError):
        return jittered_s if is_repeatable else None
    status = outcome.status_code
    is_failure = status == 429 or (is_repeatable and status >= 500 and status != 501)
    # An answer with the id of a task is that of the upstream to a submission, which the relay passes on.
    is_worth_it = is_failure and "Relay-Task-Id" not in outcome.headers
    if not is_worth_it and not (is_repeatable and _is_in_flight(outcome)):
        return None
    return max(jittered_s, retry_after_s(outcome) or 0)


def _is_in_flight(outcome: Outcome) -> bool:
    """Tells whether an answer is the problem `submission_running`, the only conflict that passes by itself."""
    return (
        isinstance(outcome, httpx.Response)
        and outcome.status_code == 409
        and "Relay-Task-Id" not in outcome.headers
        and retry_after_s(outcome) is not None
    )


def _settled(outcome: Outcome) -> httpx.Response:
    """Returns the answer to the last try."""
    if isinstance(outcome, httpx.TransportError):
        raise outcome
    # E.g. the login of a proxy in front of the relay.
    is_page = outcome.headers.get("Content-Type", "").startswith("text/html")
    if outcome.is_success and is_page:
        raise problem_of(outcome)
    return outcome
