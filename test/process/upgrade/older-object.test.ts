import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../harness/client.ts";
import { Workerd } from "../harness/workerd.ts";
import { keptBundle } from "../../kept-release/bundle.ts";

const VARS = { ...LOCAL_VARS, ARK_API_KEY: "process-test-ark-key" };
/** Problem codes with which a request may be answered because of its content. */
const REFUSALS = ["series_running", "no_callback", "task_open", "not_found"];

const Registered = z.object({ id: z.string(), hook_url: z.string(), status_url: z.string() });

/** Returns one request of each route that calls an object. */
function requests(id: string, hookPath: string): readonly (readonly [string, object?])[] {
  const account = "/v1/accounts/acme";
  const finished = { id, status: "completed", model: "m", output: { urls: ["https://a.test/1"] } };
  return [
    ["GET /healthz"],
    [`GET /v1/tasks/${id}?wait=1`],
    [`POST ${hookPath}`, { id: "cgt-1", status: "running" }],
    [`POST /v1/tasks/${id}/upstream`, { provider: "ark", id: "cgt-1" }],
    [`POST /v1/tasks/${id}/redeliver`, {}],
    [`DELETE /v1/tasks/${id}`],
    ["POST /v1/events", { id, status: "processing" }],
    ["POST /v1/events", finished],
    ["POST /v1/events", { ...finished, id: randomUUID() }],
    [`GET /v1/tasks/${id}`],
    [`POST /v1/tasks/${id}/redeliver`, {}],
    [`DELETE /v1/tasks/${id}`],
    ["POST /v1/tasks", { id, model: "m" }],
    [`POST /v1/tasks/${id}/cancel`, {}],
    ["POST /v1/wake", { ids: [id] }],
    ["POST /v1/accounts", { id: "acme" }],
    [`GET ${account}`],
    [`PUT ${account}`, { tags: ["a"], low_balance: 5, monthly_limit: 500 }],
    [`GET ${account}/spend`],
    [`POST ${account}/grants`, { reference: "a", amount: 9 }],
    [`GET ${account}/grants`],
    [`POST ${account}/adjustments`, { reference: "b", amount: 1, reason: "r" }],
    [`GET ${account}/entries`],
    ["POST /v1/tasks", { id: randomUUID(), model: "m", account: "acme", credits: 1 }],
    [`POST ${account}/keys`, {}],
    [`GET ${account}/keys`],
    [`DELETE ${account}/keys/1`],
    [`GET ${account}/signing-secrets`],
    [`POST ${account}/signing-secrets`, {}],
    [`PUT ${account}/endpoints/a`, { url: "https://client.example.com/callbacks" }],
    [`GET ${account}/endpoints/a`],
    [`DELETE ${account}?force=true`],
  ];
}

it("while the Durable Objects still run the previous release, every route works or answers 503 with Retry-After", async () => {
  const otherScript = await keptBundle();
  await using relay = await Workerd.start({ vars: VARS, otherScript, homeOf: () => "other" });
  const { client } = relay;
  const body = { model: "m", provider: "ark" };
  const { json } = await client.ask("POST", "/v1/tasks", body);
  const { id, hook_url: hookUrl, status_url: statusUrl } = Registered.parse(json);
  const answers: string[] = [];
  const asks = requests(id, new URL(hookUrl).pathname).map(([asked, sent]) => {
    const [method = "", path = ""] = asked.split(" ");
    return [asked, () => client.send(method, path, sent)] as const;
  });
  for (const [asked, send] of [["status_url", () => fetch(statusUrl)] as const, ...asks]) {
    const answer = await send();
    const text = await answer.text();
    const isRefused = REFUSALS.some((code) => text.includes(`"code":"${code}"`));
    const isRepeatable = answer.status === 503 && answer.headers.has("Retry-After");
    if (!answer.ok && !isRefused && !isRepeatable) answers.push(`${answer.status} ${asked}`);
  }
  expect(answers).toEqual([]);
});
