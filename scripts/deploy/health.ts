import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { healthOf, unconfigured } from "../doctor/configuration.ts";
import { layerOf } from "../doctor/layers.ts";
import { type Answer, isOfRelay, NoAnswer, type Relay } from "../doctor/relay.ts";
import { Refusal } from "./refusal.ts";

/** State of a relay that has just been deployed, as its answer shows it. */
export type State =
  | { readonly kind: "healthy"; readonly allowsLocalCallbacks: boolean; readonly isPaused: boolean }
  /** The deployed version does not answer `/healthz` yet, and may do so later. */
  | { readonly kind: "not yet"; readonly cause: string; readonly cure: string }
  /** The deployed version answers with a refusal, which waiting does not change. */
  | { readonly kind: "refused"; readonly cause: string; readonly cure: string };

const LOOK_EVERY_MS = 2000;
const Version = z.looseObject({ version: z.string().nullable() });

/**
 * Waits until the deployed version of the relay answers `/healthz` to the operator.
 * @param version id of the deployed version; null when it is not known.
 * @throws Refusal when the relay refuses the operator key, or is not healthy in time.
 */
export async function waitForHealth(
  relay: Relay,
  version: string | null,
  { waitMs, secretsFile }: { readonly waitMs: number; readonly secretsFile: string },
): Promise<Extract<State, { kind: "healthy" }>> {
  const giveUpAt = Date.now() + waitMs;
  for (;;) {
    const state = stateOf(await answerOf(relay), version, secretsFile);
    if (state.kind === "healthy") return state;
    const { kind, cause, cure } = state;
    if (kind === "refused") throw new Refusal(`${relay.origin}: ${cause}`, cure);
    if (Date.now() + LOOK_EVERY_MS > giveUpAt) {
      const time = `within ${Math.round(waitMs / 1000)} s`;
      const again = `${cure}; then run this command again, which goes on where it stopped`;
      throw new Refusal(`${relay.origin} was not healthy ${time}: ${cause}`, again);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function answerOf(relay: Relay): Promise<Answer | NoAnswer> {
  try {
    return await relay.ask("/healthz");
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}

/** Reads the state of the relay from its answer to `/healthz`. */
function stateOf(answer: Answer | NoAnswer, deployed: string | null, secretsFile: string): State {
  if (answer instanceof NoAnswer) {
    const cure = "wait for the DNS record and the certificate of a new domain";
    return { kind: "not yet", cause: answer.message, cure };
  }
  if (!isOfRelay(answer)) {
    const { name, cure } = layerOf(answer);
    return { kind: "not yet", cause: `answered with ${answer.status} by ${name}`, cure };
  }
  const [fault] = unconfigured(answer);
  if (fault !== undefined) {
    return { kind: "not yet", cause: fault.text, cure: fault.cure ?? "correct it and deploy" };
  }
  const version = Version.safeParse(answer.json).data?.version ?? null;
  if (version !== null && deployed !== null && version !== deployed) {
    const cure = "look for a gradual deployment: npx wrangler deployments status";
    return { kind: "not yet", cause: `another version answers, ${version}`, cure };
  }
  const health = healthOf(answer);
  if (health !== null) {
    const { ALLOW_LOCAL_CALLBACKS, PAUSED } = health.configuration;
    return { kind: "healthy", allowsLocalCallbacks: ALLOW_LOCAL_CALLBACKS, isPaused: PAUSED };
  }
  const cause = `the relay refuses the operator key in ${secretsFile}, so it has other secrets`;
  const cure = `put the ${secretsFile} of its first deployment back; docs/secrets.md says how to rotate a secret`;
  return { kind: "refused", cause, cure };
}
