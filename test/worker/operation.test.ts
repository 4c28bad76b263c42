import { env } from "../../src/startup.ts";
import { expect, it } from "vitest";
import * as z from "zod/mini";
import { Problem } from "../../src/api/http/problem.ts";
import { type Context, NoBody, NoQuery, operation, Unread } from "../../src/api/operation.ts";
import type { Caller } from "../../src/objects/task/caller.ts";

const ID = "0190a3a0-7a3c-7e6b-9a51-0f2d3c4b5a69";
const OWNER: Caller = { kind: "account", id: "acme", role: "full", key: "1" };
const READER: Caller = { ...OWNER, role: "read" };

/** Operation that returns the call which has reached it. */
const echo = operation(
  "echo",
  {
    access: "redeliver",
    rateLimit: "LIMIT_LISTS",
    params: ["account", "id"],
    query: z.strictObject({ step: z.optional(z.string().check(z.regex(/^\d$/))) }),
    body: z.strictObject({ size: z.int() }),
    takesIdempotencyKey: true,
  },
  async (call) => call,
);
type Input = Parameters<typeof echo.perform>[0];

const VALID = { params: { account: "acme", id: ID }, body: { size: 1 } } satisfies Input;
const UNREADABLE = new Unread(() => {
  throw new Problem("invalid_json", { detail: "" });
});
/** Input with every fault that an input can have. */
const WRONG: Input = {
  params: { account: "other", id: "7" },
  query: { step: "x" },
  body: UNREADABLE,
  idempotencyKey: "é",
};

async function contextWith(isWithinLimit: boolean): Promise<Context> {
  const { runtime } = env.startup;
  if (!runtime.ok) throw new Error("the configuration is not valid");
  const limited = { ...env, LIMIT_LISTS: { limit: async () => ({ success: isWithinLimit }) } };
  const called = { origin: "https://relay.example.com", isOriginProven: false };
  return { env: limited, runtime: runtime.value, ...called };
}

/** Returns the code of the problem with which the operation refuses a call, with the path of its first issue. */
async function refusal(input: Input, caller: Caller, context: Context): Promise<string> {
  const error: unknown = await echo.perform(input, caller, context).catch((thrown) => thrown);
  if (!(error instanceof Problem)) throw new Error("the operation has accepted the call");
  return `${error.code} ${error.details.issues?.[0]?.path ?? ""}`.trim();
}

it.each<[string, Caller, boolean, Input, string]>([
  ["the permission", READER, false, WRONG, "forbidden"],
  ["the rate limit", OWNER, false, WRONG, "rate_limited"],
  ["the account", OWNER, true, WRONG, "not_found"],
  [
    "the task's id",
    OWNER,
    true,
    { ...WRONG, params: { account: "acme", id: "7" } },
    "unknown_task",
  ],
  ["the query", OWNER, true, { ...WRONG, params: VALID.params }, "invalid_request /step"],
  [
    "the reading of the body",
    OWNER,
    true,
    { ...WRONG, ...VALID, body: UNREADABLE, query: {} },
    "invalid_json",
  ],
  [
    "the body",
    OWNER,
    true,
    { ...VALID, body: { size: "1" }, idempotencyKey: "é" },
    "invalid_request /size",
  ],
  [
    "the Idempotency-Key",
    OWNER,
    true,
    { ...VALID, idempotencyKey: "é" },
    "invalid_request /Idempotency-Key",
  ],
])(
  "a call of an API operation with several faults is refused by the check that comes first, here that of %s",
  async (_, caller, isWithin, input, code) => {
    expect(await refusal(input, caller, await contextWith(isWithin))).toBe(code);
  },
);

it("once a call of an API operation has passed all checks, the operation's function is called with the checked input and the caller", async () => {
  const context = await contextWith(true);
  const params = { account: "acme", id: ID.toUpperCase() };
  const body = new Unread(async () => ({ size: 2 }));
  const call = await echo.perform({ params, body, idempotencyKey: "k" }, OWNER, context);
  expect(call).toMatchObject({
    params: { account: "acme", id: ID },
    query: {},
    body: { size: 2 },
    caller: OWNER,
    idempotencyKey: "k",
  });
});

it("a call that was already counted under a rate limit, for example by a console form, is not counted a second time under the same limit", async () => {
  const context = await contextWith(false);
  const counted = { ...context, counted: "LIMIT_LISTS" } as const;
  expect(await echo.perform(VALID, OWNER, counted)).toMatchObject({ caller: OWNER });
  const other = { ...context, counted: "LIMIT_BULK" } as const;
  expect(await refusal(VALID, OWNER, other)).toBe("rate_limited");
});

const done = async () => "done";

it("the function of an API operation can only be called through perform, which makes the checks", async () => {
  const made = operation("made", { access: "operate", query: NoQuery, body: NoBody }, done);
  expect(Object.values(made)).not.toContain(done);
});
