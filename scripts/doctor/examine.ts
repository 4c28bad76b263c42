import { type OutputsBucket, uploadRuleOf } from "../deploy/outputs-bucket.ts";
import { callbackFinding, noCallback } from "./callback.ts";
import { clockFinding } from "./clock.ts";
import {
  applying,
  configurationFindings,
  healthOf,
  isOnPlainWorkerd,
  keyFinding,
  unconfigured,
} from "./configuration.ts";
import type { Finding } from "./finding.ts";
import { hookFinding } from "./hooks.ts";
import { indexFindings } from "./index-state.ts";
import { checkOffers } from "./offers.ts";
import { layerOf } from "./layers.ts";
import { uploadRuleFinding } from "./outputs.ts";
import { startReceiver } from "./receiver.ts";
import { type Answer, isOfRelay, NoAnswer, type Relay } from "./relay.ts";

/** Error for an address at which no relay answers; its message is one line with the cause and the cure. */
export class NoRelay extends Error {}

/** Input of one run of `npm run doctor`: the relay to examine, and where to send a test callback. */
export interface Examination {
  readonly relay: Relay;
  readonly url: URL;
  /** True when the relay runs on this machine. */
  readonly isLocal: boolean;
  /** True for the preview, which is paused and has no domain. */
  readonly isPreview: boolean;
  /** File on this machine in which the operator key is looked for. */
  readonly keyFile: string;
  /** Bucket of outputs that `wrangler.toml` binds for the deployment; null when it binds none, or is not asked. */
  readonly bucket: OutputsBucket | null;
  /** URL of the receiver for the test callback; null when `--to` was not given. */
  readonly to: string | null;
}

/**
 * Runs all checks of `npm run doctor` on a relay.
 * @throws NoRelay when no relay answers at the address; NoAnswer when the relay stops answering during the
 * checks.
 */
export async function examine(examination: Examination): Promise<readonly Finding[]> {
  const { relay, keyFile } = examination;
  const answer = await healthAnswer(examination);
  const faults = unconfigured(answer);
  if (faults.length > 0) return faults;
  const hooks = await hookFinding(relay);
  const health = healthOf(answer);
  if (health === null) {
    const key = keyFinding(relay.hasKey, keyFile);
    return [key, clockFinding(answer, null), hooks];
  }
  const { ALLOW_LOCAL_CALLBACKS } = health.configuration;
  const { callback, times } = await sendCallback(examination, ALLOW_LOCAL_CALLBACKS);
  const isPlain = isOnPlainWorkerd(health);
  const [stats, metrics] = [await relay.ask("/v1/stats"), await relay.ask("/metrics")];
  const { PLAN: plan, INDEX_OBJECT: isIndexInObject } = health.configuration;
  const index = indexFindings(stats, metrics, { plan, isIndexInObject }, isPlain);
  const settings = configurationFindings(health, examination);
  const offers = await checkOffers(relay, health.without_key, applying(isPlain));
  const rules = isPlain ? [] : await bucketFindings(examination, health.configuration.OUTPUTS);
  return [...settings, ...offers, ...rules, clockFinding(answer, times), hooks, callback, ...index];
}

/** Checks the bucket of a relay on Cloudflare. One on this machine has no rules. */
async function bucketFindings({ bucket, isLocal }: Examination, isBound: boolean) {
  if (bucket === null || isLocal || !isBound) return [];
  return [uploadRuleFinding(bucket.name, await uploadRuleOf(bucket))];
}

async function healthAnswer({ relay, url }: Examination): Promise<Answer> {
  try {
    const answer = await relay.ask("/healthz");
    if (isOfRelay(answer)) return answer;
    const { name, cure } = layerOf(answer);
    throw new NoRelay(`${url.origin} answered ${answer.status} by ${name}. Cure: ${cure}`);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const cure = "check --url, and that the relay runs";
    throw new NoRelay(`${url.origin} cannot be reached: ${error.message}. Cure: ${cure}`);
  }
}

/**
 * Has the relay send a test callback to the receiver given with `--to`, or to one that this function starts
 * on this machine.
 */
async function sendCallback({ relay, isLocal, to }: Examination, allowsLocal: boolean) {
  if (to !== null) return { callback: await callbackFinding(relay, to), times: null };
  if (!isLocal || !allowsLocal) return { callback: noCallback(isLocal), times: null };
  const receiver = await startReceiver();
  try {
    const callback = await callbackFinding(relay, receiver.url);
    return { callback, times: receiver.received() };
  } finally {
    receiver.close();
  }
}
