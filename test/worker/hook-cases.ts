import { env } from "cloudflare:workers";
import * as z from "zod";
import { expect, it, vi } from "vitest";
import { ADAPTERS } from "../providers/adapters.ts";
import type {
  HookExample,
  PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import {
  attach,
  type Hooked,
  hooked,
  type HookedOptions,
  sendHook,
  answerOf,
  readHooked,
} from "./hooked.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { bodyFor, found, isStatus, PUBLISHED_JWK, type Sender, SENDERS } from "./senders.ts";
import { until } from "./clock.ts";
import { stored, expectUnchanged, refusalsOf } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";
import { callWith, refusal, UNKNOWN_TASK, UNAUTHENTICATED } from "./client.ts";

/** A provider, on a relay that has the provider's key, webhook secret, both or neither. */
export interface HookCase {
  readonly name: string;
  readonly sender: Sender;
  readonly bindings: object;
  readonly hasKey: boolean;
  /** States that the relay applies a hook without polling the provider. */
  readonly isTrusted: boolean;
  /** States that the relay verifies the signatures of hooks. */
  readonly isChecked: boolean;
}

/**
 * Every provider with and without its key, and with and without its webhook secret; a gateway has a default
 * connection only with its key.
 */
export const CASES: readonly HookCase[] = SENDERS.flatMap((sender) => {
  const withSecret = Object.keys(sender.secretVars).length > 0 ? [false, true] : [false];
  // Without a key, hooks without results end no task.
  const needsKey = sender.isGateway || !statesResults(sender);
  return (needsKey ? [true] : [false, true]).flatMap((hasKey) =>
    withSecret.map((hasSecret) => caseOf(sender, hasKey, hasSecret)),
  );
});

/**
 * One provider for each kind of assurance, with the configurations that change how the relay treats its hooks.
 */
export const REPRESENTATIVES: readonly HookCase[] = CASES.filter(
  ({ sender, hasKey, isChecked }) => {
    if (sender.provider === "ark") return true;
    if (sender.provider === "replicate") return isChecked || hasKey;
    // The hooks of Vidu echo the id of the task.
    if (sender.provider === "vidu") return !hasKey;
    return ["fal", "kie"].includes(sender.provider) && hasKey && isChecked;
  },
);

function caseOf(sender: Sender, hasKey: boolean, hasSecret: boolean): HookCase {
  const { provider, isBodySigned, keyVars, secretVars } = sender;
  const vars = { ...(hasKey && keyVars), ...(hasSecret && secretVars) };
  const known = Object.keys(vars).join(" and ");
  return {
    name: `with ${known === "" ? "neither a key nor a webhook secret" : known} configured, a hook of ${provider}`,
    sender,
    bindings: { ...env, ...vars },
    hasKey,
    isTrusted: !hasKey || (isBodySigned && hasSecret),
    isChecked: hasSecret || sender.hasPublishedKeys || (provider === "vidu" && hasKey),
  };
}

/** A task for a case, with its upstream and its receiver. */
export interface Scene {
  readonly task: Hooked;
  readonly outside: Outside;
  readonly attach: () => Promise<Response>;
  /** Sets what the upstream answers to polls. */
  readonly answers: (poll: PollExample) => void;
  /** Returns the number of polls so far. */
  readonly polls: () => number;
  /** Sends a hook as the provider does, with a signature if the provider signs. */
  readonly post: (hook: HookExample) => Promise<Response>;
}

/** Registers a task whose upstream reports progress until `answers` is called. */
export async function aScene(
  { sender, bindings }: Pick<HookCase, "sender" | "bindings">,
  fields: HookedOptions["fields"] = {},
): Promise<Scene> {
  const outside = anOutside();
  const { provider, done } = sender;
  const jwksUrl = ADAPTERS.get(provider)?.jwksUrl;
  const others = () => {
    outside.on(CALLBACK_URL, answering("thank you"));
    if (jwksUrl !== undefined) outside.on(jwksUrl, answering({ keys: [PUBLISHED_JWK] }));
  };
  others();
  const task = await hooked({ provider, bindings, fields });
  const apiCalls = () =>
    outside.sentTo("").filter(({ url }) => url !== CALLBACK_URL && url !== jwksUrl);
  const answers = ({ exchanges }: PollExample) => {
    outside.on("https://", (sent) => {
      const { pathname, search } = new URL(sent.url);
      const exchange = exchanges.find(({ path }) => `${pathname}${search}`.endsWith(path));
      if (exchange === undefined) throw new Error(`unexpected ${sent.url}`);
      return Response.json(exchange.answer.body, { status: exchange.answer.status });
    });
    others();
  };
  answers(sender.open);
  return {
    task,
    outside,
    answers,
    attach: () => attach(task, done.jobId, done.endpoint ?? null),
    polls: () => apiCalls().filter(({ url }) => !url.includes("files/retrieve")).length,
    post: async (hook) => {
      const body = bodyFor(hook, task);
      return sendHook(task, body, await sender.sign(body, task));
    },
  };
}

/**
 * Finds an example hook of the provider, about the attached job or without a job id, with one of these
 * statuses.
 */
export function hookOf({ sender }: HookCase, ...statuses: readonly string[]): HookExample {
  const { done, hooks } = sender;
  const known = sender.namesJobs ? done.jobId : null;
  return found(hooks, ({ means, jobId }) => jobId === known && isStatus(means, ...statuses));
}

/** Tells whether hooks of the provider state the links of a success; those of Gemini say only that the job has ended. */
function statesResults({ hooks }: Sender): boolean {
  return hooks.some(({ means }) => isStatus(means, "completed"));
}

/** Finds an example hook about the success of the attached job, with its links where hooks of the provider have them. */
function successOf(hookCase: HookCase): HookExample {
  return hookOf(hookCase, statesResults(hookCase.sender) ? "completed" : "no_output");
}

const Polled = z.looseObject({
  tracking: z.looseObject({ poll: z.looseObject({ answer: z.looseObject({ kind: z.string() }) }) }),
});

/** Waits until the answer of a poll is stored. */
export async function polled(scene: Scene): Promise<void> {
  await until(async () => {
    const { record } = await stored(scene.task.id);
    return Polled.safeParse(record).success;
  });
}

const OK = [200, "ok"];

function urlsOf(means: unknown): unknown {
  return Reflect.get(Object(means), "urls");
}

/** Returns the links of a completed task as its upstream has stated them, also where clients get links of the relay. */
function linksOf(task: object): unknown {
  return Reflect.get(task, "source_urls") ?? urlsOf(Reflect.get(task, "output"));
}

/** Waits until the task has ended and its callback is delivered; returns the task. */
async function ended({ task, outside }: Scene) {
  await until(async () => {
    const { callback } = await readHooked(task);
    return Reflect.get(Object(callback), "status") === "delivered";
  });
  const calls = outside.sentTo(CALLBACK_URL);
  const end = await readHooked(task);
  expect(calls.map(({ headers }) => headers["x-event"])).toEqual([`task.${end.status}`]);
  return end;
}

/** Returns a task whose upstream has finished the job. */
async function finished(hookCase: HookCase): Promise<Scene> {
  const scene = await aScene(hookCase);
  scene.answers(hookCase.sender.done);
  return scene;
}

/** Tests what a hook of this case changes and what the relay answers to it. */
export function testHooks(hookCase: HookCase): void {
  testAcceptedHooks(hookCase);
  testIgnoredHooks(hookCase);
  testRefusedHooks(hookCase);
  if (hookCase.isChecked) testSignatures(hookCase);
}

/**
 * Tests how hooks end a task: at once when the relay trusts the hook, otherwise by the poll that the hook
 * causes.
 */
function testAcceptedHooks(hookCase: HookCase): void {
  const { sender, isTrusted } = hookCase;
  const success = successOf(hookCase);
  const urls = isTrusted ? urlsOf(success.means) : urlsOf(sender.done.means);

  it(`${hookCase.name} that arrives before its job was attached to the task completes the task`, async () => {
    const scene = await finished(hookCase);
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    if (!isTrusted) {
      expect(await readHooked(scene.task)).toMatchObject({ status: "pending" });
      expect(scene.polls()).toBe(0);
      expect((await scene.attach()).status).toBe(200);
    }
    const end = await ended(scene);
    expect([end.status, linksOf(end)]).toEqual(["completed", urls]);
    expect(scene.polls() > 0).toBe(!isTrusted);
    expect((await scene.attach()).status).toBe(isTrusted ? 409 : 200);
  });

  it(`${hookCase.name} about the job attached to the task completes the task, and gets 404 once the task is erased`, async () => {
    const scene = await finished(hookCase);
    await scene.attach();
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    const end = await ended(scene);
    expect([end.status, linksOf(end)]).toEqual(["completed", urls]);
    expect(scene.polls() > 0).toBe(!isTrusted);
    const { id, bindings } = scene.task;
    await callWith(bindings, `/v1/tasks/${id}`, { method: "DELETE" });
    expect(await refusal(await scene.post(success))).toEqual(UNKNOWN_TASK);
  });

  it(`${hookCase.name} that reports a failure ${isTrusted ? "fails the task" : "only causes a poll, because it is not trusted"}`, async () => {
    const scene = await aScene(hookCase);
    const failure = hookOf(hookCase, "failed");
    await scene.attach();
    expect(await answerOf(await scene.post(failure))).toEqual(OK);
    if (isTrusted) {
      expect(await ended(scene)).toMatchObject({ status: "failed", ...Object(failure.means) });
    } else {
      await polled(scene);
      expect(await readHooked(scene.task)).not.toHaveProperty("error");
      expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
    }
    expect(scene.polls() > 0).toBe(!isTrusted);
  });
}

/** Tests that hooks which arrive after the end of a task do not change the task. */
function testIgnoredHooks(hookCase: HookCase): void {
  const { sender } = hookCase;
  const success = successOf(hookCase);

  it(`${hookCase.name} that arrives after its task has ended changes nothing, whatever it reports`, async () => {
    const scene = await finished(hookCase);
    await scene.attach();
    await scene.post(success);
    await ended(scene);
    const polls = scene.polls();
    await expectUnchanged(scene.task.id, async () => {
      for (const hook of sender.hooks.filter(({ jobId }) => jobId === sender.done.jobId)) {
        expect(await answerOf(await scene.post(hook))).toEqual(OK);
      }
    });
    expect(scene.polls()).toBe(polls);
    expect(scene.outside.sentTo(CALLBACK_URL)).toHaveLength(1);
  });
}

type Headers = Readonly<Record<string, string>>;

/** Tests hooks that are too large or addressed to another task. */
function testRefusedHooks(hookCase: HookCase): void {
  const { sender } = hookCase;
  const { provider } = sender;
  const failure = hookOf(hookCase, "failed");

  it(`${hookCase.name} with a body over the limit gets 413`, async () => {
    const scene = await aScene(hookCase);
    const large = { ...failure, body: `${failure.body}${" ".repeat(256 * 1024)}` };
    await expectUnchanged(scene.task.id, async () => {
      const tooLarge = { status: 413, code: "payload_too_large" };
      expect(await refusal(await scene.post(large))).toEqual(tooLarge);
    });
  });

  it.runIf(ADAPTERS.get(provider)?.hooks?.idParameter != null)(
    `${hookCase.name} with the id of another task in its body changes nothing, except that the reason of the refusal is stored`,
    async () => {
      const scene = await aScene(hookCase);
      await scene.attach();
      const body = bodyFor(failure, scene.task).replaceAll(scene.task.id, crypto.randomUUID());
      const headers = await sender.sign(body, scene.task);
      const reasons = await refusalsOf(scene.task.id, async () => {
        expect(await answerOf(await sendHook(scene.task, body, headers))).toEqual([200, "ok"]);
      });
      expect(reasons).toEqual(["other_task"]);
      expect(scene.polls()).toBe(0);
    },
  );
}

/** Tests hooks whose signature is missing, wrong, outdated or of another body. */
function testSignatures(hookCase: HookCase): void {
  const { sender } = hookCase;
  const failure = hookOf(hookCase, "failed");

  it(`${hookCase.name} whose signature is missing, incomplete, wrong or too old gets 401; at most three such hooks of a task are stored as refused`, async () => {
    const scene = await aScene(hookCase);
    await scene.attach();
    const body = bodyFor(failure, scene.task);
    const right = await sender.sign(body, scene.task);
    const old = await outdated(sender, body, scene.task);
    const reasons = await refusalsOf(scene.task.id, async () => {
      for (const headers of [{}, ...withoutOne(right), spoiled(right), old]) {
        const response = await sendHook(scene.task, body, headers);
        expect(response.headers.get("WWW-Authenticate")).toMatch(/^Signature /);
        expect(await refusal(response)).toEqual(UNAUTHENTICATED);
      }
    });
    expect(reasons).toEqual(Array(3).fill("bad_signature"));
    expect(scene.polls()).toBe(0);
    expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
  });

  const isOverBody = sender.isBodySigned || sender.hasPublishedKeys;
  it(`${hookCase.name} with the signature of another body gets ${isOverBody ? "401" : "200, because the provider does not sign bodies"}`, async () => {
    const scene = await aScene(hookCase);
    const genuine = bodyFor(successOf(hookCase), scene.task);
    const headers = await sender.sign(genuine, scene.task);
    const forge = () => sendHook(scene.task, bodyFor(failure, scene.task), headers);
    if (!isOverBody) return expect((await forge()).status).toBe(200);
    const reasons = await refusalsOf(scene.task.id, async () => {
      expect(await refusal(await forge())).toEqual(UNAUTHENTICATED);
    });
    expect(reasons).toEqual(["bad_signature"]);
  });

  it(`${hookCase.name} without a signature gets 401 before its body is parsed`, async () => {
    const scene = await aScene(hookCase);
    expect(await refusal(await sendHook(scene.task, "{"))).toEqual(UNAUTHENTICATED);
  });
}

/** Signs a body 301 s before the present time. */
async function outdated(sender: Sender, body: string, task: Hooked): Promise<Headers> {
  const now = Date.now();
  vi.setSystemTime(now - 301_000);
  const headers = await sender.sign(body, task);
  vi.setSystemTime(now);
  return headers;
}

/** Leaves out each of the headers that the signature needs, one at a time. */
function withoutOne(headers: Headers): readonly Headers[] {
  const names = Object.keys(headers).filter((name) => name !== "X-HMAC-ACCESS-KEY");
  return names.map((absent) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name !== absent)),
  );
}

/** Replaces one character in the middle of the signature. */
function spoiled(headers: Headers): Headers {
  const [name = ""] = Object.keys(headers).filter((each) => /signature(-ed25519)?$/i.test(each));
  const signature = headers[name] ?? "";
  const at = signature.length - 20;
  const other = signature[at] === "1" ? "2" : "1";
  return { ...headers, [name]: `${signature.slice(0, at)}${other}${signature.slice(at + 1)}` };
}
