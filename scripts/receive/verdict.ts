import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { operatorKeyIn } from "../operator-keys.ts";
import type { ReceiveOptions } from "./options.ts";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The secrets of the relay that sign what it sends; an account has only those of its callbacks. */
interface Secrets {
  readonly callbacks: readonly string[];
  readonly operator?: readonly string[];
  readonly settlement?: readonly string[];
}

type Source = Pick<ReceiveOptions, "secret" | "account" | "relay">;

/** Verifies the signature of a callback and describes the result in a few words. */
export async function verdictOn(received: Received, source: Source): Promise<string> {
  const secrets = source.secret === null ? await askSecrets(source) : [source.secret];
  if (typeof secrets === "string") return `not verified: ${secrets}`;
  const faults = secrets.flatMap((secret) => faultOf(received, secret) ?? []);
  if (faults.length < secrets.length) return "valid";
  const isOwner = source.secret === null && source.account === null;
  const hint = isOwner ? "; that of a task of an account needs --account" : "";
  return `INVALID: ${faults[0] ?? "the relay has no secret"}${hint}`;
}

/** Returns why a callback was not signed with the secret; null when it was. */
function faultOf({ headers, body }: Received, secret: string): string | null {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  try {
    new Webhook(secret).verify(body, Object.fromEntries(texts));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Asks the relay for the secrets that sign callbacks, at each callback, because they may have been rotated;
 * returns the reason when the relay does not give them. The key is `OPERATOR_KEY`, or that of `.dev.vars` with
 * the role all.
 */
async function askSecrets({ relay, account }: Source): Promise<readonly string[] | string> {
  const key = operatorKey();
  if (key === null) return "no key with the role all in OPERATOR_KEYS of .dev.vars";
  const owner = account === null ? "/v1" : `/v1/accounts/${encodeURIComponent(account)}`;
  const url = `${relay}${owner}/signing-secrets`;
  try {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(url, { headers, redirect: "manual" });
    if (!response.ok) return `${url} answered ${response.status}`;
    const answer: Secrets = JSON.parse(await response.text());
    const { callbacks, operator = [], settlement = [] } = answer;
    return [...callbacks, ...operator, ...settlement];
  } catch {
    return `${url} did not answer`;
  }
}

function operatorKey(): string | null {
  const given = process.env["OPERATOR_KEY"]?.trim() ?? "";
  if (given !== "") return given;
  try {
    const devVars = readFileSync(join(import.meta.dirname, "../../.dev.vars"), "utf8");
    return operatorKeyIn(devVars, "administer");
  } catch {
    return null;
  }
}
