import { sign, signedHeaders } from "../security/signature.ts";
import { log } from "../log.ts";
import type { Runtime } from "../config/runtime.ts";
import { post } from "./http.ts";

/** What the operator is told, as the body says it. */
export type OperatorEvent =
  /** `task` is JSON text. */
  | { readonly type: "callback.failed" | "refund.delayed"; readonly task: string }
  | { readonly type: "host.failing"; readonly host: string }
  | { readonly type: "provider.unauthorized"; readonly connection: string }
  | { readonly type: "index.lagging"; readonly overdue: number };

const TIMEOUT_MS = 5_000;

/**
 * Tells the operator at `OPERATOR_CALLBACK_URL`, with Standard Webhooks headers and a secret of its own.
 * @param id the same on every try. @param happenedAt Unix milliseconds.
 * @returns whether it was taken; false also when nobody wants to be told.
 */
export async function tellOperator(
  event: OperatorEvent,
  id: string,
  happenedAt: number,
  { config, keyring }: Runtime,
  aborted: AbortSignal | null = null,
): Promise<boolean> {
  const url = config.operatorCallbackUrl;
  if (url === null) return false;
  const body = bodyOf(event, happenedAt);
  const message = { id, timestamp: String(Math.floor(Date.now() / 1000)), body };
  const keys = { callbackSecrets: keyring.operatorSecrets, signingKeys: [] };
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": "TaskRelay/1",
    ...signedHeaders(message, await sign(message, keys)),
  };
  const timeoutMs = Math.min(TIMEOUT_MS, config.callbackTimeoutMs);
  const { outcome } = await post({ url, headers, body }, timeoutMs, aborted);
  if (outcome !== "delivered") log({ event: "operator.unreachable", type: event.type, outcome });
  return outcome === "delivered";
}

/** `{type, timestamp, data}`, as Standard Webhooks recommends. */
function bodyOf(event: OperatorEvent, happenedAt: number): string {
  const head = { type: event.type, timestamp: Math.floor(happenedAt / 1000) };
  if ("task" in event) {
    return `${JSON.stringify(head).slice(0, -1)},"data":{"task":${event.task}}}`;
  }
  const { type: _, ...data } = event;
  return JSON.stringify({ ...head, data });
}
