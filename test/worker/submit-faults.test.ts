import { expect, it, vi } from "vitest";
import { answerRequest } from "../../src/app.ts";
import type { Runtime, WithStartup } from "../../src/config/runtime.ts";
import type { Connection } from "../../src/providers/provider.ts";
import { conforming } from "../description/conforms.ts";
import { aRequest, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { started } from "./started.ts";
import {
  anArk,
  ARK,
  ARK_PATH,
  BINDINGS,
  BODY,
  JOB,
  named,
  readSubmitted,
  submit,
} from "./submitted.ts";

useClock();

/** Submits a job to Ark through a relay whose runtime has these parts in place of its own. */
async function submitTo(
  partsOf: (runtime: Runtime) => Partial<Runtime>,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const env = await started(BINDINGS);
  const { runtime } = env.startup;
  if (!runtime.ok) throw new Error("the configuration is not valid");
  const value = { ...runtime.value, ...partsOf(runtime.value) };
  const changed: WithStartup = { startup: { ...env.startup, runtime: { ok: true, value } } };
  const message = { body: BODY, headers: { "Content-Type": "application/json", ...headers } };
  const request = aRequest(`/v1/submit/ark${ARK_PATH}`, message);
  return conforming(request, await answerRequest(request, { ...env, ...changed }));
}

/** Returns the configuration with another connection to Ark. */
function withArk(
  { config }: Runtime,
  change: (connection: Connection) => Connection,
): Partial<Runtime> {
  const ark = config.connections.get("ark");
  if (ark === undefined) throw new Error("there is no connection to Ark");
  const connections = new Map([...config.connections, ["ark", change(ark)] as const]);
  return { config: { ...config, connections } };
}

function readAnswer(): never {
  throw new RangeError(`secret ${JOB}`);
}

it("when reading the upstream's response to a submission fails, the outcome is unknown, and the relay's answer keeps SDKs from repeating the call", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const lines = vi.spyOn(console, "error").mockReturnValue(undefined);
  const response = await submitTo(
    (runtime) =>
      withArk(runtime, (ark) => {
        const { provider } = ark;
        if (provider.polls === null || provider.submits === undefined) throw new Error("no Ark");
        return { ...ark, provider: { ...provider, submits: { ...provider.submits, readAnswer } } };
      }),
    headers,
  );
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
  const [line, ...others] = lines.mock.calls.map(([text]) => String(text));
  expect(JSON.parse(line ?? "")).toMatchObject({
    event: "submission.unread",
    task_id: id,
    error: "RangeError",
  });
  expect([line, ...others].join()).not.toContain(JOB);
  expect(await readSubmitted(id)).toMatchObject({
    submission: { state: "unknown", status_code: 200 },
  });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("when the relay cannot build the request to the upstream for a submission, nothing is sent and no task remains", async () => {
  const outside = anArk();
  const { id, headers } = named();
  vi.spyOn(console, "error").mockReturnValue(undefined);
  // No header can have a line break.
  const key = "two\nlines";
  const response = await submitTo(
    (runtime) => withArk(runtime, (ark) => ({ ...ark, key })),
    headers,
  );
  expect(await refusal(response)).toEqual({ status: 500, code: "internal_error" });
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
});

function lost(): Error {
  return Object.assign(new Error("Network connection lost."), { retryable: true });
}

/** Returns bindings that lose the answers to registrations, and the first call that ends a submission. */
function losingAnswers(): object {
  let losses = 0;
  const getByName = (id: string) => {
    const stub = BINDINGS.TASKS.getByName(id);
    const apply = async (...given: Parameters<typeof stub.apply>) => {
      await stub.apply(...given);
      throw lost();
    };
    const endSubmission = async (...given: Parameters<typeof stub.endSubmission>) => {
      if (losses++ === 0) throw lost();
      return stub.endSubmission(...given);
    };
    return { apply, endSubmission };
  };
  return { ...BINDINGS, TASKS: { getByName } };
}

it("when the task's Durable Object does not confirm the registration of a submission, the submission gets 503 and the task is erased, if need be at a second try", async () => {
  const outside = anArk();
  const { id, headers } = named();
  vi.stubGlobal("scheduler", { wait: async () => undefined });
  const response = await submit({ headers, bindings: losingAnswers() });
  vi.unstubAllGlobals();
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
});

it("a submission that the upstream accepted is answered with the upstream's response even when no status link can be made", async () => {
  const outside = anArk();
  const { id, headers } = named();
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const response = await submitTo(
    ({ keyring }) => ({ keyring: { ...keyring, statusKeys: [] } }),
    headers,
  );
  expect([response.status, await response.json()]).toEqual([200, { id: JOB }]);
  expect(response.headers.get("Relay-Task-Id")).toBe(id);
  expect(response.headers.get("Relay-Status-Url")).toBeNull();
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "accepted" } });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});
