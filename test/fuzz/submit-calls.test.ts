import * as fc from "fast-check";
import { passedHeaders, sentHeaders } from "../../src/api/submit/sent-headers.ts";
import { callTargetOf } from "../../src/api/submit/upstream-call.ts";
import { Problem } from "../../src/api/http/problem.ts";
import { fuzz, weighted } from "./fuzz.ts";
import { changedText } from "./text.ts";

const RELAY = "https://relay.example.com";
const PREFIX = "/v1/submit/ark";
const BASE = "https://api.example.net/v1/prefix";

const KNOWN = [
  "/contents/generations/tasks",
  "/v1/models/acme/video-1.0/predictions?a=1&b=%20",
  "/fal-ai/veo3/fast?fal_webhook=https%3A%2F%2Fa.example",
];
const TRICKS = [
  "/..",
  "/.",
  "//",
  "%2e%2e",
  "/%2E./",
  "\\",
  "#x",
  "?",
  "&",
  "'",
  "\t",
  "\u0000",
  "@",
  ":",
  ";",
];

/** Generates paths with a query, most of them with parts that some readers take for others. */
const targets = weighted(
  [3, changedText(fc.constantFrom(...KNOWN))],
  [
    3,
    fc
      .tuple(fc.constantFrom(...KNOWN), fc.constantFrom(...TRICKS), fc.nat(60))
      .map(([known, trick, at]) => `${known.slice(0, at)}${trick}${known.slice(at)}`),
  ],
  [1, fc.constantFrom(...KNOWN)],
);

type Split = typeof callTargetOf;

/** Requires that the URL of a call leads where path and query say, as they are written. */
function isPassedOn(target: string, split: Split): boolean {
  try {
    const { path, query } = split(`${RELAY}${PREFIX}${target}`, PREFIX);
    const written = `${BASE}${path}${query === "" ? "" : `?${query}`}`;
    const url = new URL(written);
    if (url.href !== written) throw new Error(`${written} leads to ${url.href}`);
    if (/%|\/\/|\/\.{1,2}(?:\/|$)/.test(path)) throw new Error(`${path} can be read in two ways`);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === "invalid_request") return false;
    throw error;
  }
}

/** Splits a target without looking at it. @param decoded true decodes the path once. */
function carelessly(url: string, prefix: string, decoded: boolean) {
  const [path = "", query = ""] = url.slice(RELAY.length + prefix.length).split("?", 2);
  return { path: decoded ? decodeURI(path) : path, query };
}

fuzz(
  "the relay sends a submission to the connection's base URL followed by exactly the path and the query that its caller has written",
  {
    inputs: targets,
    subject: callTargetOf,
    check: isPassedOn,
    defects: {
      "every path is passed on": (url, prefix) => carelessly(url, prefix, false),
      "the URL parser resolves the path": (url, prefix) => {
        const { pathname, search } = new URL(url);
        return { path: pathname.slice(prefix.length), query: search.slice(1) };
      },
      "percent signs are taken for letters": (url, prefix) => {
        callTargetOf(url.replaceAll("%", "x"), prefix);
        return carelessly(url, prefix, false);
      },
    },
  },
);

const SECRETS = ["key-of-the-relay", "session=1", "192.0.2.7"];
const FORBIDDEN =
  /^(?:cookie|connection|host|te|upgrade|transfer-encoding|keep-alive|relay-.*|cf-.*|x-forwarded-.*|forwarded|content-length|x-http-method.*|x-method-override|api-key|mj-api-secret|range|if-.*|x-client-ip)$/;
/** All headers that an upstream may get of an account's call, and those that the relay sets. */
const FOR_ACCOUNTS =
  /^(?:accept|accept-language|authorization|content-type|prefer|traceparent|tracestate|user-agent|x-stainless-[\w-]+)$/;

const known = fc.constantFrom(
  ..."Authorization x-api-key x-goog-api-key api-key mj-api-secret Cookie Connection Relay-Metadata Relay-Other".split(
    " ",
  ),
  ..."CF-Ray X-Forwarded-For X-Client-IP X-HTTP-Method X-HTTP-Method-Override X-Method-Override Range If-Match".split(
    " ",
  ),
  ..."Forwarded Content-Length TE Upgrade X-Trace X-Runway-Version Prefer X-DashScope-Async Accept User-Agent".split(
    " ",
  ),
  ..."X-Fal-Queue-Priority X-Stainless-Lang Traceparent Tracestate Accept-Language".split(" "),
);
const names = weighted([6, known], [2, changedText(known)]);
const headers = fc
  .array(fc.tuple(names, fc.constantFrom("a", "b, c", "X-Trace", ...SECRETS)), { maxLength: 8 })
  .map((pairs) => pairs.filter(([name, value]) => isSendable(name, value)));
const calls = fc.record({ pairs: headers, isOfAccount: fc.boolean() });

function isSendable(name: string, value: string): boolean {
  if (!/^[\w-]+$/.test(name)) return false;
  // Only these headers contain secrets.
  return (
    !SECRETS.includes(value) ||
    /^(?:authorization|x-api-key|x-goog-api-key|api-key|mj-api-secret|cookie|forwarded|x-forwarded-for|x-client-ip)$/i.test(
      name,
    )
  );
}

const CREDENTIALS = { Authorization: "Bearer key-of-the-connection" };

fuzz(
  "with a submission, the relay forwards an operator's headers except keys, cookies, addresses and those of the connection, but of an account's headers only listed ones",
  {
    inputs: calls,
    subject: sentHeaders,
    check: ({ pairs, isOfAccount }, send) => {
      const contentType = "application/json";
      const sent = send(new Headers(pairs), CREDENTIALS, { contentType, isOfAccount });
      for (const [name, value] of sent) {
        const isWrong = isOfAccount ? !FOR_ACCOUNTS.test(name) : FORBIDDEN.test(name);
        if (isWrong) throw new Error(`${name} is sent`);
        if (SECRETS.some((secret) => value.includes(secret)))
          throw new Error(`${name} has a secret`);
      }
      if (sent.get("Authorization") !== CREDENTIALS.Authorization)
        throw new Error("no key is sent");
      const listed = new Headers(pairs).get("Connection") ?? "";
      if (listed.includes("X-Trace") && sent.has("X-Trace")) throw new Error("X-Trace is sent");
      return sent.has("Prefer");
    },
    defects: {
      "all headers are sent": (given, credentials) => {
        const sent = new Headers(given);
        for (const [name, value] of Object.entries(credentials)) sent.set(name, value);
        return sent;
      },
      "the connection's own headers are not looked up": (given, credentials, call) => {
        const sent = sentHeaders(given, credentials, call);
        const trace = given.get("X-Trace");
        if (trace !== null && !call.isOfAccount) sent.set("X-Trace", trace);
        return sent;
      },
      "the caller's key is sent in another header": (given, credentials, call) => {
        const sent = sentHeaders(given, credentials, call);
        const key = given.get("x-api-key");
        if (key !== null) sent.set("x-api-key", key);
        return sent;
      },
      "an account's headers are sent as those of an operator": (given, credentials, call) =>
        sentHeaders(given, credentials, { ...call, isOfAccount: false }),
    },
  },
);

const answered = fc.array(
  fc.tuple(
    fc.constantFrom(
      ..."Content-Type Retry-After Set-Cookie Location Server X-RateLimit-Limit Relay-Task-Id".split(
        " ",
      ),
    ),
    fc.constantFrom("a", "7"),
  ),
  { maxLength: 6 },
);

fuzz(
  "the caller of a submission gets only those headers of the upstream's answer that the relay lists",
  {
    inputs: answered,
    subject: passedHeaders,
    check: (pairs, pass) => {
      const passed = [...pass(new Headers(pairs)).keys()];
      const wrong = passed.filter(
        (name) => !/^(?:content-type|retry-after|x-ratelimit-limit)$/.test(name),
      );
      if (wrong.length > 0) throw new Error(`${wrong.join()} is passed on`);
      return passed.length > 0;
    },
    defects: { "all headers are passed on": (given) => new Headers(given) },
    cases: 20_000,
  },
);
