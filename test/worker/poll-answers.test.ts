import { env } from "cloudflare:workers";
import { started } from "./started.ts";
import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { askUpstream } from "../../src/outbound/ask-upstream.ts";
import type { PollExample } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, MEANINGS } from "../providers/examples.ts";
import { intercept } from "./outside.ts";
import { keyVarsOf } from "./senders.ts";

const UNCLEAR: object = { kind: "unclear", statusCode: 200, word: null };
/**
 * Result for an answer with an error status, whose word is the code in its body; the success of newapi has
 * such a code.
 */
const CODED: object = { ...UNCLEAR, word: expect.toBeOneOf(["success", null]) };
const UNKNOWN_STATE: object = { ...UNCLEAR, word: expect.any(String) };
const UNANSWERED = { kind: "unanswered" };
const UNAUTHORIZED = { kind: "unauthorized" };

/** Answers of any provider that do not state the state of the job, although some have the body of a success. */
const SILENT: readonly (readonly [string, (success: string) => Response, object])[] = [
  ["HTTP 401 with the body of a success", withStatus(401), UNAUTHORIZED],
  ["HTTP 403 with the body of a success", withStatus(403), UNAUTHORIZED],
  [
    "HTTP 429 with Retry-After 7",
    withStatus(429, { "Retry-After": "7" }),
    { kind: "limited", retryAfterMs: 7_000 },
  ],
  ["HTTP 429 without Retry-After", withStatus(429), { kind: "limited", retryAfterMs: null }],
  ["HTTP 500 with the body of a success", withStatus(500), UNANSWERED],
  ["HTTP 503 with a page of HTML", () => new Response("<html>", { status: 503 }), UNANSWERED],
  [
    "HTTP 503 with Retry-After 7",
    withStatus(503, { "Retry-After": "7" }),
    { ...UNANSWERED, retryAfterMs: 7_000 },
  ],
  ["HTTP 404 with the body of a success", withStatus(404), { ...CODED, statusCode: 404 }],
  ["a redirect with the body of a success", withStatus(302), { ...CODED, statusCode: 302 }],
  ["half of the JSON of a success", (success) => new Response(success.slice(0, -9)), UNCLEAR],
  ["an empty body", () => new Response(null), UNCLEAR],
  ["a page of HTML", () => new Response("<html>"), UNCLEAR],
  ["an empty list", () => new Response("[]"), UNCLEAR],
];

describe.each(EXAMPLES)("answers of $provider to polls", ({ provider, polls, foreignJob }) => {
  const { others: _others, success, ...others } = polls;

  const examples = Object.entries({ success, ...others }).flatMap(([kind, example]) =>
    "exempt" in example ? [] : [[MEANINGS.get(kind) ?? kind, example] as const],
  );

  it.each(examples)(
    `the relay reads an example response of ${provider} to a poll as %s`,
    async (_, example) => {
      const { means } = example;
      const expected = means === null ? UNKNOWN_STATE : { kind: "news", news: means };
      expect(await asked(provider, example)).toMatchObject(expected);
    },
  );

  it.each(SILENT)(
    `the state of a job stays unknown when the response of ${provider} to a poll of the job is %s`,
    async (_, answer, expected) => {
      expect(await asked(provider, success, answer)).toEqual(expected);
    },
  );

  it(`another job's success in the response of ${provider} to a poll ${foreignJob === undefined ? "leaves the state of the job unknown" : "is read as the job's own, because it contains no job id"}`, async () => {
    const other = { ...success, jobId: "another-job" };
    expect(await asked(provider, other)).toMatchObject(
      foreignJob === undefined ? UNCLEAR : { news: success.means },
    );
  });

  it(`when ${provider} answers a poll with a success whose links begin with ftp://, the relay reads a success without output`, async () => {
    const changed = JSON.stringify(success.exchanges).replaceAll(/https?:\/\//g, "ftp://");
    const answer = await asked(provider, { ...success, exchanges: JSON.parse(changed) });
    expect(answer).toMatchObject({ kind: "news", news: { status: "no_output" } });
  });
});

/**
 * Polls a provider about a job. The first request gets the answer `first`, the others those of the example.
 */
async function asked(
  provider: string,
  { jobId, endpoint, exchanges }: PollExample,
  first: (body: string) => Response = (body) => new Response(body),
): Promise<PollAnswer> {
  const vars = keyVarsOf(provider, "test-only-access:test-only-secret");
  const runtime = (await started({ ...env, ...vars })).startup.runtime;
  if (!runtime.ok) throw new Error(JSON.stringify(runtime.error));
  const answers = exchanges.map(({ answer: { status, body } }, i) =>
    i === 0 ? first(JSON.stringify(body)) : Response.json(body ?? null, { status }),
  );
  intercept(() => answers.shift() ?? new Response(null, { status: 500 }));
  const poll = {
    taskId: crypto.randomUUID(),
    connection: provider,
    job: { id: jobId, endpoint: endpoint ?? null },
    createdAt: Date.now(),
    isUrgent: false,
    customerKey: null,
    submitted: null,
    purpose: "result",
  } as const;
  const connection = runtime.value.config.connections.get(provider);
  if (connection === undefined) throw new Error(`there is no connection ${provider}`);
  return askUpstream(poll, connection, runtime.value, new AbortController().signal);
}

function withStatus(status: number, headers: Readonly<Record<string, string>> = {}) {
  return (success: string): Response => new Response(success, { status, headers });
}
