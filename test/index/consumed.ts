import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { consume } from "../../src/objects/index/index-row-consumer.ts";
import { started } from "../worker/started.ts";

/**
 * Lets the consumer handle messages with these bodies, whose ids are 0, 1 and so on. @returns which messages
 * were acknowledged and which are to be repeated.
 */
export async function consumed(bodies: readonly unknown[], bindings: object = {}) {
  const messages = bodies.map((body, id) => ({
    id: String(id),
    timestamp: new Date(Date.now()),
    attempts: 1,
    body,
  }));
  const batch = createMessageBatch("task-relay-index", messages);
  const retries = batch.messages.map((message) => vi.spyOn(message, "retry"));
  await consume(batch, await started({ ...env, ...bindings }));
  const { explicitAcks, retryMessages } = await getQueueResult(batch, createExecutionContext());
  // The result has the messages that are repeated, but not their delays.
  const delays = retries.flatMap((retry) => retry.mock.calls.map(([how]) => how?.delaySeconds));
  const retried = retryMessages.map(({ msgId }) => msgId);
  return { acked: explicitAcks.toSorted(), retried, delays };
}
