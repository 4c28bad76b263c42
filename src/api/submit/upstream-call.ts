import type { UpstreamKeyOwner } from "../../core/offers/offer.ts";
import type { CallMethod } from "../../providers/job-calls.ts";
import type { Issue } from "../http/problem.ts";
import { invalidRequest } from "../http/problem.ts";
import { readPreference } from "./preference.ts";

/** A call that a client wants to make to an upstream through the relay, before the relay has checked it. */
export class UpstreamCall {
  readonly method: CallMethod;
  /** Path below the base URL of the connection, exactly as the caller has spelled it, e.g. `/v1/predictions`. */
  readonly path: string;
  /** Query of the call, without the question mark; empty when there is none. */
  readonly query: string;
  /** Headers of the caller, without the preference `respond-async`. */
  readonly headers: Headers;
  /** True when the caller does not wait for the upstream's answer (`Prefer: respond-async`). */
  readonly isAsync: boolean;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly keyOwner: UpstreamKeyOwner;

  constructor(
    method: CallMethod,
    path: string,
    query: string,
    headers: Headers,
    body: ReadableStream<Uint8Array> | null,
    keyOwner: UpstreamKeyOwner,
  ) {
    this.method = method;
    this.path = path;
    this.query = query;
    const preferring = readPreference(headers);
    this.headers = preferring.headers;
    this.isAsync = preferring.isAsync;
    this.body = body;
    this.keyOwner = keyOwner;
  }
}

/**
 * Pattern of a path that all programs understand in the same way: it has no dot segments, no empty segment, and nothing
 * that could be decoded twice.
 */
const PLAIN_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,;=:@-]+)+$/;
/** Pattern of a query that consists only of characters which the URL parser leaves unchanged. */
const PLAIN_QUERY = /^[\w.~!$&()*+,;=:@/?%[\]{}|^`-]*$/;

/**
 * Splits the URL of a submission into the path and query of the call to the upstream.
 * @param url URL of the request exactly as received, because a URL parser would resolve `..` in it.
 * @param prefix path of the route up to the path of the call, e.g. `/v1/submit/ark`.
 * @throws Problem `invalid_request` when the path or query could be understood in two ways.
 */
export function callTargetOf(url: string, prefix: string): Pick<UpstreamCall, "path" | "query"> {
  const target = statedTargetOf(url, prefix);
  if (!PLAIN_PATH.test(target.path)) throw invalidRequest([PATH_ISSUE]);
  if (!PLAIN_QUERY.test(target.query)) throw invalidRequest([QUERY_ISSUE]);
  return target;
}

/**
 * Splits the URL as `callTargetOf` does, but checks nothing. The path is empty when the path of the URL does
 * not begin with `prefix`.
 */
export function statedTargetOf(url: string, prefix: string): Pick<UpstreamCall, "path" | "query"> {
  const [, rest = ""] = /^[a-z]+:\/\/[^/?#]*(.*)$/is.exec(url) ?? [];
  const at = rest.indexOf("?");
  const path = at < 0 ? rest : rest.slice(0, at);
  const query = at < 0 ? "" : rest.slice(at + 1);
  return { path: path.startsWith(prefix) ? path.slice(prefix.length) : "", query };
}

const PATH_ISSUE: Issue = {
  path: "/path",
  message: "must be the upstream's own path, without `..`, `//`, percent signs and a fragment",
};
const QUERY_ISSUE: Issue = {
  path: "/query",
  message: "must be percent-encoded, without a fragment",
};
