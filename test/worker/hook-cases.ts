import { env } from "cloudflare:workers";
import * as z from "zod";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { HookFixture, PollFixture } from "../providers/fixture.ts";
import { attach, type Hooked, hooked, type HookedOptions, sendHook } from "./hooked.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { bodyFor, found, isStatus, PUBLISHED_JWK, type Sender, SENDERS } from "./senders.ts";
import { until } from "./clock.ts";
import { stored } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

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
  return (sender.isGateway ? [true] : [false, true]).flatMap((hasKey) =>
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
  readonly answers: (poll: PollFixture) => void;
  /** Returns the number of polls so far. */
  readonly polls: () => number;
  /** Sends a hook as the provider does, with a signature if the provider signs. */
  readonly post: (hook: HookFixture) => Promise<Response>;
}

/** Registers a task whose upstream reports progress until `answers` is called. */
export async function aScene(
  { sender, bindings }: Pick<HookCase, "sender" | "bindings">,
  fields: HookedOptions["fields"] = {},
): Promise<Scene> {
  const outside = anOutside();
  const { provider, done } = sender;
  const jwksUrl = PROVIDERS.get(provider)?.jwksUrl;
  const others = () => {
    outside.on(CALLBACK_URL, answering("thank you"));
    if (jwksUrl !== undefined) outside.on(jwksUrl, answering({ keys: [PUBLISHED_JWK] }));
  };
  others();
  const task = await hooked({ provider, bindings, fields });
  const apiCalls = () =>
    outside.sentTo("").filter(({ url }) => url !== CALLBACK_URL && url !== jwksUrl);
  const answers = ({ exchanges }: PollFixture) => {
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
export function hookOf({ sender }: HookCase, ...statuses: readonly string[]): HookFixture {
  const { done, hooks } = sender;
  const known = sender.namesJobs ? done.jobId : null;
  return found(hooks, ({ means, jobId }) => jobId === known && isStatus(means, ...statuses));
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
