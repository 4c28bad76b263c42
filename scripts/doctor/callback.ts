import * as z from "zod";
import { type Finding, ok, problem, unchecked } from "./finding.ts";
import type { Answer, Relay } from "./relay.ts";

const Outcome = z.looseObject({
  outcome: z.string(),
  status_code: z.int().optional(),
  cloudflare_error: z.int().optional(),
});
const Refusal = z.looseObject({ code: z.string(), detail: z.string().optional() });

/** Advice to the operator for each outcome of a test callback that was not delivered. */
const CURES: Readonly<Record<string, string>> = {
  rejected: "the receiver must answer 2xx; read its log and the firewall in front of it",
  redirected: "give the URL that the receiver redirects to; redirects are not followed",
  timeout: "the receiver must answer within CALLBACK_TIMEOUT_S",
  unreachable: "check the receiver's host name, DNS record, port and certificate",
  blocked: "use a public https URL without an IP address",
};

/** Advice to the operator for a test callback that the relay refused to send, by problem code. */
const REFUSAL_CURES: Readonly<Record<string, string>> = {
  invalid_request: "give a public https URL with a host name in --to",
};

/** Result of a test callback. */
export interface CallbackFinding extends Finding {
  /** Outcome of the attempt, as the API names it; null when the relay has made none. */
  readonly outcome: string | null;
}

/**
 * Has the relay send a sample callback to this URL, and returns whether it was delivered, as one of the
 * results that `npm run doctor` prints.
 */
export async function callbackFinding(relay: Relay, url: string): Promise<CallbackFinding> {
  return callbackFindingOf(await relay.ask("/v1/callbacks/test", { callback_url: url }));
}

/**
 * Converts the answer to `POST /v1/callbacks/test` to a result that `npm run doctor` prints: that the
 * callback was delivered, or the problem and how to solve it.
 */
function callbackFindingOf({ status, json }: Answer): CallbackFinding {
  const sent = Outcome.safeParse(json).data;
  if (sent === undefined) return { ...refusalFinding(status, json), outcome: null };
  const { outcome, status_code: answered, cloudflare_error: error } = sent;
  if (outcome === "delivered") return { ...ok("callback: delivered"), outcome };
  const code = error === undefined ? "" : `, Cloudflare's error ${error}`;
  const detail = answered === undefined ? "" : ` (${answered}${code})`;
  const cure = CURES[outcome] ?? "read the relay's log";
  return { ...problem(`callback: ${outcome}${detail}`, cure), outcome };
}

/** Converts the answer of a relay that has sent no callback. */
function refusalFinding(status: number, json: unknown): Finding {
  const { code = "no problem code" } = Refusal.safeParse(json).data ?? {};
  if (code === "forbidden") {
    return unchecked("callback: set OPERATOR_KEY to a key with the role operate or all");
  }
  const cure = REFUSAL_CURES[code] ?? "look it up in docs/errors.md";
  return problem(`callback: the relay answered ${status} ${code}`, cure);
}

/** Returns the result of `npm run doctor` that no test callback was sent, and what one needs. */
export function noCallback(isLocal: boolean): Finding {
  return unchecked(
    isLocal
      ? "callback: a receiver on this machine needs ALLOW_LOCAL_CALLBACKS"
      : "callback: give a receiver with --to https://…",
  );
}
