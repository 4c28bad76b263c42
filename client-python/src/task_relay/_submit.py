from __future__ import annotations

import json as json_text
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import httpx
from typing_extensions import TypedDict

from ._flow import Call


class SubmitInit(TypedDict, total=False):
    """The call to the upstream, and what the relay is told about it."""

    json: Any
    """Body of the call as JSON."""
    body: bytes | str
    """Body of the call as it is, e.g. a form whose type is in `headers`; in place of `json`."""
    headers: Mapping[str, str]
    """Headers for the upstream."""
    query: Mapping[str, str] | str
    """Query of the upstream's URL, without the question mark."""
    callback_url: str
    """URL to which the relay sends the callback when the job has ended."""
    metadata: Mapping[str, Any]
    """Labels of the task, at most 4 KB as JSON. Reading the task returns them; no callback has them."""
    key: Literal["customer"] | None
    """`customer`: the upstream gets your own key, which the headers of the call contain as the upstream takes it. The
    relay asks for the job with it too, and stores it encrypted until then. By default it is the key of the
    connection."""
    idempotency_key: str | None
    """Key of 1 to 255 printable ASCII characters. Calls under the same key are submitted once. By default each call has
    a key of its own."""
    task_id: str
    """Id of the task. For operator keys only, as are the following."""
    account: str
    """Account of the task."""
    credits: int
    """Price in credits, which the account is charged."""
    price: Mapping[str, Any]
    """The same, or a price by what the job turns out to be, in place of `credits`."""
    deadline_at: int
    """Time at which the task fails if it is still open, in Unix seconds."""


class CallInit(SubmitInit, total=False):
    """A call of the upstream's own API, by `POST` a submission, an upload or a cancellation."""

    method: str
    """`POST` by default."""


@dataclass(frozen=True)
class Submission:
    """A job that the upstream has accepted or refused."""

    task_id: str
    status_url: str | None = field(repr=False)
    """Link to the status page of the task; None when the upstream has refused the job, which leaves no task."""
    response: httpx.Response
    """The upstream's own answer."""


def upstream_call(
    base_url: str,
    connection: str,
    path: str,
    answer_within_s: float,
    *,
    method: str = "POST",
    json: Any = None,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | str = "",
    key: Literal["customer"] | None = None,
    idempotency_key: str | None = None,
    callback_url: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    task_id: str | None = None,
    account: str | None = None,
    credits: int | None = None,
    price: Mapping[str, Any] | None = None,
    deadline_at: int | None = None,
) -> Call:
    """Returns the call that makes a call of the upstream's own API through the relay. By `POST` it has an idempotency
    key.

    Raises ValueError when the path leads elsewhere, e.g. by `..`, and for what a header cannot contain.
    """
    if json is not None and body is not None:
        raise TypeError("json and body are given: a call has one body")
    if key not in (None, "customer"):
        raise ValueError('key is neither None nor "customer"')
    sent = httpx.Headers(headers)
    if json is not None:
        sent.setdefault("Content-Type", "application/json")
        body = json_body(json)
    if method == "POST":
        sent["Idempotency-Key"] = header_text("idempotency_key", idempotency_key or str(uuid4()))
    options = {
        "callback_url": callback_url,
        "metadata": metadata,
        "task_id": task_id,
        "account": account,
        "credits": credits,
        "price": price,
        "deadline_at": deadline_at,
    }
    for name, value in options.items():
        if value is not None:
            sent[f"Relay-{name.replace('_', '-')}"] = header_text(name, value)
    return Call(
        method=method,
        url=_url_below(base_url, connection, path, query),
        answer_within_s=answer_within_s,
        headers=sent,
        body=body.encode() if isinstance(body, str) else body,
        key_header="Relay-Key" if key else "Authorization",
    )


def json_body(value: object) -> bytes:
    """Returns a value as JSON. Raises ValueError or TypeError for what JSON does not have, e.g. NaN."""
    return json_text.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def header_text(name: str, value: str | int | Mapping[str, Any]) -> str:
    """Returns a value as a header can contain it: an object as JSON in ASCII.

    Raises ValueError, which names the option, for other characters than those of printable ASCII.
    """
    text = json_body(value).decode().replace("\x7f", "\\u007f") if isinstance(value, Mapping) else str(value)
    if not re.fullmatch(r"[ -~]+", text):
        raise ValueError(f"{name} is empty, or has characters besides printable ASCII")
    return text


def _url_below(base_url: str, connection: str, path: str, query: Mapping[str, str] | str) -> httpx.URL:
    place = f"/v1/submit/{connection}/{path.removeprefix('/')}"
    url = httpx.URL(base_url + place)
    if not url.raw_path.partition(b"?")[0].endswith(place.encode()):
        raise ValueError("path is not plain: it has a query, a blank, or segments such as `..`")
    if isinstance(query, str):
        return url.copy_with(query=query.removeprefix("?").encode()) if query else url
    return url.copy_merge_params(query)
