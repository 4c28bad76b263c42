from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeGuard, TypeVar, overload

from .types import FinishedTask, RunningTask

_TOLERANCE_S = 300
"""Largest accepted difference between the clocks of relay and receiver."""
_ED25519_KEY_BYTES = 32

Told = TypeVar("Told", covariant=True)

VerificationFailure = Literal[
    "missing_header",
    "malformed_header",
    "too_old",
    "too_new",
    "no_matching_signature",
    "body_already_read",
    "not_json",
    "not_a_task",
]
"""Name of the check that a callback did not pass."""


class VerificationError(Exception):
    """A callback must not be trusted; answer it with 401. The error contains neither a secret nor the body."""

    failure: VerificationFailure
    header: str | None
    """Name of the header that is missing or malformed; None for other failures."""
    age_s: int | None
    """Age of a timestamp that is too old or too new, in seconds; negative when it is ahead. None for other failures."""

    def __init__(
        self,
        failure: VerificationFailure,
        message: str,
        header: str | None = None,
        age_s: int | None = None,
    ) -> None:
        super().__init__(failure, message, header, age_s)
        self.failure = failure
        self.header = header
        self.age_s = age_s
        self._message = message

    def __str__(self) -> str:
        return self._message


class Headers(Protocol):
    """The headers of a request, as every framework has them; upper and lower case mean the same."""

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True)
class VerifiedCallback(Generic[Told]):
    """A verified callback with what its body tells: the end of a task, or what the receiver has asked for besides."""

    webhook_id: str
    """Id that all attempts of a callback share, by which a receiver recognises repeated ones."""
    sent_at: int
    """Time at which this attempt was sent, in Unix seconds."""
    task: Told


@overload
def verify(
    body: bytes | str,
    headers: Headers,
    keys: str | Sequence[str],
    *,
    progress: Literal[False] = False,
) -> VerifiedCallback[FinishedTask]: ...
@overload
def verify(
    body: bytes | str, headers: Headers, keys: str | Sequence[str], *, progress: bool
) -> VerifiedCallback[FinishedTask | RunningTask]: ...
def verify(
    body: bytes | str, headers: Headers, keys: str | Sequence[str], *, progress: bool = False
) -> VerifiedCallback[FinishedTask | RunningTask]:
    """Verifies a callback of the relay (Standard Webhooks), and reads its body.

    `body` is the body as it arrived, before anything has parsed it. `keys` is the secret (`whsec_…`), or a public key
    of the relay (`whpk_…`), which needs the package `cryptography`; several while one is rotated. `progress` is True
    where the receiver has asked for progress: without it, a progress callback is refused as `not_a_task`.

    Raises VerificationError, which says which check failed, and ValueError when one of `keys` is not a key.
    """
    known = _read_keys(keys)
    webhook_id = _require_header(headers, "webhook-id")
    timestamp = _require_header(headers, "webhook-timestamp")
    signatures = _require_header(headers, "webhook-signature")
    sent_at = _require_recent(timestamp)
    data = _bytes_of(body)
    _require_signature(signatures, f"{webhook_id}.{timestamp}.".encode() + data, known)
    return VerifiedCallback(webhook_id, sent_at, _task_in(data, progress))


@dataclass(frozen=True)
class _Key:
    """A key of Standard Webhooks, and the version of the signatures that it checks."""

    version: Literal["v1", "v1a"]
    fits: Callable[[bytes, bytes], bool]
    """Tells whether a signature is valid for a content."""


def _read_keys(keys: object) -> list[_Key]:
    """Reads secrets (`whsec_…`, for `v1` signatures) and public keys (`whpk_…`, for `v1a`)."""
    texts = [keys] if isinstance(keys, str) or not isinstance(keys, Iterable) else list(keys)
    if not texts:
        raise _no_key()
    return [_read_key(text) for text in texts]


def _read_key(text: object) -> _Key:
    # An environment variable that is not set has the value None, whatever its type says.
    match = re.fullmatch(r"\s*(whsec_|whpk_)(\S+)\s*", text) if isinstance(text, str) else None
    data = None if match is None else _decode_base64(match[2])
    if match is None or data is None:
        raise _no_key()
    if match[1] == "whsec_":
        return _secret_key(data)
    if len(data) != _ED25519_KEY_BYTES:
        raise _no_key()
    return _public_key(data)


def _no_key() -> ValueError:
    return ValueError("A key is a secret (whsec_ and base64) or a public key (whpk_ and base64).")


def _secret_key(secret: bytes) -> _Key:
    def fits(signature: bytes, content: bytes) -> bool:
        return hmac.compare_digest(signature, hmac.digest(secret, content, hashlib.sha256))

    return _Key("v1", fits)


def _public_key(data: bytes) -> _Key:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise ImportError('A public key (whpk_) needs: pip install "task-relay[ed25519]"') from error
    key = Ed25519PublicKey.from_public_bytes(data)

    def fits(signature: bytes, content: bytes) -> bool:
        try:
            key.verify(signature, content)
        except InvalidSignature:
            return False
        return True

    return _Key("v1a", fits)


def _decode_base64(text: str) -> bytes | None:
    """Decodes base64, with its padding or without; None when the text is empty or not base64."""
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        return base64.b64decode(padded, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _require_header(headers: Headers, name: str) -> str:
    value = ", ".join(text for key, text in headers.items() if key.lower() == name)
    if value == "":
        raise VerificationError("missing_header", f"The header {name} is missing.", name)
    return value


def _require_recent(timestamp: str) -> int:
    """Checks the timestamp, and returns it as a number of Unix seconds."""
    name = "webhook-timestamp"
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        message = f"The header {name} is not a time in Unix seconds."
        raise VerificationError("malformed_header", message, name)
    age_s = int(time.time()) - int(timestamp)
    if abs(age_s) <= _TOLERANCE_S:
        return int(timestamp)
    where = "old" if age_s > 0 else "ahead"
    message = f"The timestamp is {abs(age_s)} s {where}; {_TOLERANCE_S} s are allowed."
    raise VerificationError("too_old" if age_s > 0 else "too_new", message, age_s=age_s)


def _bytes_of(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode()
    # A framework may have replaced the bytes by the value that it has parsed.
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    message = "The body was read or parsed before verify, which needs its bytes."
    raise VerificationError("body_already_read", message)


def _require_signature(signatures: str, content: bytes, keys: Sequence[_Key]) -> None:
    versions = set()
    for each in signatures.split(" "):
        version, _, rest = each.partition(",")
        versions.add(version)
        signature = _decode_base64(rest.partition(",")[0])
        if signature is None:
            continue
        if any(key.version == version and key.fits(signature, content) for key in keys):
            return
    wanted = sorted({key.version for key in keys})
    message = (
        "No signature matches: the key is another one, or the body is not the one that was sent."
        if versions.intersection(wanted)
        else f"The header webhook-signature has no {' or '.join(wanted)} signature."
    )
    raise VerificationError("no_matching_signature", message)


def _task_in(data: bytes, is_progress_taken: bool) -> FinishedTask | RunningTask:
    try:
        body: Any = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise VerificationError("not_json", "The signed body is not JSON.") from None
    if _is_task(body, is_progress_taken):
        return body
    raise VerificationError("not_a_task", "The signed body is no finished task.")


def _is_task(body: Any, is_progress_taken: bool) -> TypeGuard[FinishedTask | RunningTask]:
    """Tells whether a value is what a callback tells of. Only its kind is checked, because the signature has proved who
    wrote the body.
    """
    if not isinstance(body, dict) or "id" not in body:
        return False
    status = body.get("status")
    if status == "processing":
        return is_progress_taken and "progress" in body
    return (status == "completed" and "output" in body) or (status == "failed" and "error" in body)
