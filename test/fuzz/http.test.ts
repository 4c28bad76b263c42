import { expect, it, vi } from "vitest";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { answerFrom } from "../worker/started.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { hookToken, NO_SUBMISSION } from "../../src/security/hook-token.ts";
import { sign, signedHeaders } from "../../src/security/signature.ts";
import { NOW, NOW_S } from "../core/builders.ts";
import { defectsOf, type Relay } from "./broken-relays.ts";
import {
  ORIGIN,
  requireGuarded,
  requirePublic,
  requireSound,
  requireUnchanged,
} from "./contract.ts";
import { fuzz } from "./fuzz.ts";
import { type HookToken, requestsTo, type SentRequest } from "./requests.ts";
import { ENVS, newWorld, OTHER_CLASSES, RECORDS } from "./world.ts";

// Node lacks the base class of Durable Objects; the classes of the objects are the relay's own.
vi.mock("cloudflare:workers", () => ({
  env: {},
  DurableObject: class {
    readonly ctx: unknown;
    readonly env: unknown;

    constructor(ctx: unknown, env: unknown) {
      this.ctx = ctx;
      this.env = env;
    }
  },
}));

const marks = vi.hoisted(() => new Set<unknown>());
vi.mock("cloudflare:durable-objects", () => ({
  retryable: (method: unknown) => marks.add(method),
}));

const HOOKED = ["ark", "fal", "kie", "kling", "luma", "minimax", "openrouter", "replicate", "vidu"];
vi.useFakeTimers({ toFake: ["Date"], now: NOW });
for (const method of ["log", "warn", "error"] as const)
  vi.spyOn(console, method).mockImplementation(() => {});
// Adds the globals of workerd that the relay uses and Node lacks.
Reflect.set(crypto.subtle, "timingSafeEqual", (a: ArrayBuffer, b: ArrayBuffer) => {
  const other = new Uint8Array(b);
  return a.byteLength === b.byteLength && new Uint8Array(a).every((byte, i) => byte === other[i]);
});
// Makes every wait end at once.
Reflect.set(globalThis, "scheduler", {
  wait: async (ms: number) => vi.setSystemTime(Date.now() + ms),
});
const sentTo: string[] = [];
Reflect.set(globalThis, "fetch", async (url: string | URL | Request) => {
  sentTo.push(url instanceof Request ? url.url : String(url));
  return Response.json({ id: "cgt-1", status: "running" });
});

const runtime = ENVS[0]?.startup.runtime;
if (runtime?.ok !== true) throw new Error("the configuration of the test is not valid");
const { keyring } = runtime.value;
const tokens: readonly HookToken[] = await Promise.all(
  HOOKED.flatMap((provider) =>
    [...RECORDS.keys()].map(async (id) => {
      const token = await hookToken(provider, id, NO_SUBMISSION, keyring.hookKeys);
      return { provider, id, token };
    }),
  ),
);

// The first request of an isolate stores the jurisdiction, whatever its answer is.
for (const env of ENVS) await answerFrom(env, new Request(`${ORIGIN}/healthz`));

const untouched: Relay = (request, env) => answerFrom(env, request);
const defects = defectsOf(untouched);

async function requireContract(request: SentRequest, relayed: Relay): Promise<boolean> {
  vi.setSystemTime(NOW);
  sentTo.length = 0;
  const world = newWorld();
  const response = await answer(request, relayed);
  await requireSound(request, response);
  await world.settle();
  if (response.status >= 400) requireUnchanged(world);
  requireGuarded(request, response, world);
  requirePublic(sentTo);
  return response.status < 400;
}

async function answer(request: SentRequest, relayed: Relay): Promise<Response> {
  const { method, path, sender, body, isIndexed } = request;
  const headers = new Headers(request.headers);
  if (sender === "signed") {
    const message = { id: "msg_1", timestamp: String(NOW_S), body: body ?? "" };
    const keys = { callbackSecrets: keyring.eventsSecrets, signingKeys: [] };
    const signed = signedHeaders(message, await sign(message, keys));
    for (const [name, value] of Object.entries(signed)) headers.set(name, value);
  }
  const sent = new Request(ORIGIN + path, { method, headers, body });
  return relayed(sent, ENVS[Number(isIndexed)] ?? {});
}

it("when the connection to a Durable Object is lost during a call, the relay repeats the call only if a second call of the same method changes nothing", () => {
  const classes = [TaskObject, AccountObject, ...Object.values(OTHER_CLASSES)];
  const marked = classes.flatMap(({ name: type, prototype }) =>
    methodsOf(prototype).flatMap(([name, { value }]) => (marks.has(value) ? [[type, name]] : [])),
  );
  const byClass = Object.groupBy(marked, ([type = ""]) => type);
  const names = Object.entries(byClass).map(([type, methods = []]) => [
    type,
    methods
      .flatMap(([, name = ""]) => name)
      .toSorted()
      .join(" "),
  ]);
  expect(Object.fromEntries(names)).toEqual({
    TaskObject:
      "deleteOutputs endAttempt endCall endCopies endSubmission followUp holdsPlace hook inspect isKnown isOpen outputOfJob placeOfOutput read readAnswer readByLink readJob refuseCall rewriteIndexRow startCall wake",
    AccountObject:
      "charge deleteEndpoint describe endpoint endpoints noteSettings profile putEndpoint recentlyCharged refund release spend useListedKey",
    ConnectionObject: "connectionState hooklessTasks",
    DeploymentObject: "endSession hostPauses isSessionEnded pauseHost resumeHost",
    OutputObject: "copy delete",
    CallObject: "begin drop follow",
    QueueObject: "ask leave position refuse state",
    OfferBookObject: "read versions",
  });
});

/** Lists the methods of a class and of those that it extends. */
function methodsOf(prototype: object | null): readonly [string, PropertyDescriptor][] {
  if (prototype === null) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return [...own, ...methodsOf(Reflect.getPrototypeOf(prototype))];
}

const isTaskPath = (path: string) => /^\/(?:v1\/tasks|v1\/events|hooks)/.test(path);

fuzz(
  "any request to a route of tasks, events or hooks gets a documented answer, and changes nothing stored if it is refused",
  {
    inputs: requestsTo(
      ROUTES.filter(({ path }) => isTaskPath(path)),
      tokens,
    ),
    subject: untouched,
    defects,
    check: requireContract,
    cases: 30_000,
    leastShare: 0.02,
  },
);

fuzz(
  "any request to a route other than those of tasks, events and hooks gets a documented answer, and changes nothing stored if it is refused",
  {
    inputs: requestsTo(
      ROUTES.filter(({ path }) => !isTaskPath(path)),
      tokens,
    ),
    subject: untouched,
    defects,
    check: requireContract,
    cases: 20_000,
    leastShare: 0.02,
  },
);
