import type { PollLimits } from "../core/record/tracking.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Result } from "../core/result.ts";
import type { Observation } from "./observation.ts";

/**
 * What the best-configured hook of a provider proves: that its body is the provider's
 * (`body-signed`), that the provider sent it but not with which body (`request-signed`), that its
 * sender knows a secret (`shared-secret`), or only that it knows our URL (`capability-url`).
 */
export type Assurance = "body-signed" | "request-signed" | "shared-secret" | "capability-url";

/** Named credentials and a base URL for a provider; the default connection is named after it. */
export interface Connection {
  readonly name: string;
  readonly provider: Provider;
  /** `https://host` and path prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** API key; null: the provider cannot be asked. */
  readonly key: string | null;
  /** What the provider signs its hooks with; null: that signature cannot be checked. */
  readonly webhookSecret: string | null;
  /** Our own account at the provider, where its hooks name theirs. */
  readonly userId: string | null;
  /** Where the provider publishes the keys of its hooks. */
  readonly jwksUrl: string | null;
}

/** A source of results: an upstream service, or a simulation of one. */
export type Provider = UpstreamProvider | SimulatedProvider;

/**
 * One upstream service. An adapter describes requests and reads what comes back; it never sends, and it
 * never throws, whatever the upstream writes.
 */
export interface UpstreamProvider {
  /** As in `provider` and in the path of hooks, e.g. `ark`. */
  readonly name: string;
  /** Variables of the default connection. */
  readonly variables: ProviderVariables;
  /** Base URLs that a connection may name; the first is the default. Credentials go nowhere else. */
  readonly baseUrls: readonly [string, ...string[]];
  /** URL of the keys that sign the provider's hooks, as a JWK set (RFC 7517). */
  readonly jwksUrl?: string;
  /** Tells whether a text can be the secret of the provider's hooks; absent means that any can. */
  readonly isWebhookSecret?: (secret: string) => boolean;
  /** Null when the provider sends no hooks. */
  readonly hooks: HookAdapter | null;
  readonly polls: PollAdapter;
}

/** Names of the variables of the default connection; absent means that the provider has no such thing. */
export interface ProviderVariables {
  readonly key: string;
  readonly baseUrl: string;
  readonly webhookSecret?: string;
  readonly userId?: string;
}

/** A provider without a service behind it: nothing is called, and its jobs proceed with time. */
export interface SimulatedProvider {
  readonly name: string;
  readonly hooks: null;
  readonly polls: null;
  readonly simulation: Simulation;
}

export interface Simulation {
  readonly limits: PollLimits;
  /** Starts the job of a new task; the error says what `model` must be. */
  readonly start: (model: string) => Result<StartedJob, string>;
  /** Observes a job. @param ageMs time since the task was created. */
  readonly observe: (job: Job, ageMs: number) => Observation;
}

export interface StartedJob {
  readonly job: Job;
  /** Time until the task fails; null means the relay's own default. */
  readonly deadlineMs: number | null;
}

export interface HookAdapter {
  readonly assurance: Assurance;
  /** The field of the submit call that takes the hook URL, `?name` where it is a query parameter. */
  readonly parameter: string;
  /** The field that takes our task id and comes back in hooks; null: there is none. */
  readonly idParameter: string | null;
  /** The body that answers a handshake; null: `body` is not one. */
  readonly preflight?: (body: unknown) => string | null;
  /** What this hook proves, as far as the connection has what is needed to check it. */
  readonly authenticate: (
    hook: Hook,
    connection: Connection,
    context: HookContext,
  ) => Promise<Authenticity>;
  /** What the hook says; null: nothing that can be understood. */
  readonly read: (body: unknown, hook: Hook) => Observation | null;
}

/** A hook as it came in. */
export interface Hook {
  /** Path of the request, e.g. `/hooks/vidu/…`. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface HookContext {
  /** Unix milliseconds. */
  readonly now: number;
  /** The Ed25519 keys published at `url`; `isFresh` asks for the newest ones. Null: not reachable. */
  readonly publicKeys: (url: string, isFresh: boolean) => Promise<readonly CryptoKey[] | null>;
}

export type Authenticity =
  /** The body is the provider's word. */
  | "signed"
  /** Nothing speaks against it, but the body may be anybody's. */
  | "unsigned"
  /** A signature is missing or wrong. */
  | "refused"
  /** What is needed to check the signature cannot be reached now. */
  | "unavailable";

export interface PollAdapter {
  /** Least time between two polls of one task. */
  readonly gapMs: number;
  /** After this time the provider has forgotten a job; null: not known to. */
  readonly maxAgeMs: number | null;
  /** What the `endpoint` of an attached job is, in the words of an error message; null: not taken. */
  readonly endpoint: Endpoint | null;
  readonly headers: (key: string, now: number) => Promise<Readonly<Record<string, string>>>;
  /** Path and query of the request for a job, from the base URL on. */
  readonly path: (job: Job) => string;
  readonly read: (answer: Answer, job: Job) => Reading;
  /** Whether a status of 4xx can be the job's own failure; else its body is not read. */
  readonly readsErrors?: true;
}

export interface Endpoint {
  readonly isRequired: boolean;
  readonly meaning: string;
  readonly pattern: RegExp;
}

/** What came back from the provider. 401, 403, 429, 3xx and 5xx do not come so far. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined: it was none. */
  readonly body: unknown;
}

/** What an answer to a poll means. */
export type Reading =
  | { readonly kind: "observed"; readonly observation: Observation }
  /** It takes one more request. */
  | {
      readonly kind: "next";
      readonly path: string;
      readonly read: (answer: Answer, job: Job) => Reading;
    }
  /** The key is refused, although the HTTP status does not say so. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "limited" }
  /** Nothing that can be understood; asked again later. */
  | { readonly kind: "unclear" };

export const UNCLEAR = { kind: "unclear" } as const satisfies Reading;

/** The reading of an answer that says all there is; null: it was not understood. */
export function readingOf(observation: Observation | null): Reading {
  return observation === null ? UNCLEAR : { kind: "observed", observation };
}

/** For providers that do not sign: knowing the URL is all there is to know. */
export async function noSignature(): Promise<Authenticity> {
  return "unsigned";
}

export async function bearer(key: string): Promise<Readonly<Record<string, string>>> {
  return { Authorization: `Bearer ${key}` };
}
