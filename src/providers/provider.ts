import type { PollLimits } from "../core/policy.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Result } from "../core/result.ts";
import type { Observation } from "./observation.ts";

/**
 * What a hook proves where the connection is fully configured: that the provider wrote the body
 * (`body-signed`), that the provider sent it, with any body (`request-signed`), or only that the sender
 * knows the hook URL (`capability-url`).
 */
export type Assurance = "body-signed" | "request-signed" | "capability-url";

/** Named credentials and a base URL for a provider; the default connection is named after it. */
export interface Connection {
  readonly name: string;
  readonly provider: Provider;
  /** `https://host` and path prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** API key; null means that the provider cannot be polled. */
  readonly key: string | null;
  /** Secret that the provider signs its hooks with; null means that the signature cannot be verified. */
  readonly webhookSecret: string | null;
  /** Our user id at the provider, for hooks that name the user; null when not configured. */
  readonly userId: string | null;
  /** URL of the keys that sign the provider's hooks; null where it publishes none. */
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
  /** The field of the submit call that takes our task id and is echoed in hooks; null for none. */
  readonly idParameter: string | null;
  /** Returns the body that answers a handshake; null when `body` is not a handshake. */
  readonly preflight?: (body: unknown) => string | null;
  /** Verifies the hook as far as the connection has the secrets for it. */
  readonly authenticate: (
    hook: Hook,
    connection: Connection,
    context: HookContext,
  ) => Promise<Authenticity>;
  /** Reads the hook; null when it cannot be understood. */
  readonly read: (body: unknown, hook: Hook) => Observation | null;
}

/** A hook as it was received. */
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
  /**
   * Fetches the Ed25519 keys published at `url`; null when unreachable.
   * @param isFresh whether to bypass the cache, because a key was missing.
   */
  readonly publicKeys: (url: string, isFresh: boolean) => Promise<readonly CryptoKey[] | null>;
}

export type Authenticity =
  /** The provider wrote the body. */
  | "signed"
  /** Not refuted, but anyone who knows the URL may have written the body. */
  | "unsigned"
  /** The signature is missing or wrong. */
  | "refused"
  /** The keys that verify the signature cannot be fetched now. */
  | "unavailable";

export interface PollAdapter {
  /** Minimum time between two polls of one task. */
  readonly gapMs: number;
  /** Time after which the provider forgets a job; null when unknown. */
  readonly maxAgeMs: number | null;
  /** The `endpoint` of an attached job; null when the provider needs none. */
  readonly endpoint: Endpoint | null;
  /** Builds the headers that authenticate a request at `now` (Unix milliseconds). */
  readonly headers: (key: string, now: number) => Promise<Readonly<Record<string, string>>>;
  /** Builds path and query of the request for a job, relative to the base URL. */
  readonly path: (job: Job) => string;
  readonly read: (answer: Answer, job: Job) => Reading;
  /** Whether the body of a 4xx is read, because it can be the failure of the job itself. */
  readonly readsErrors?: true;
}

/** The part of a job's address that the caller names when it attaches the job. */
export interface Endpoint {
  readonly isRequired: boolean;
  /** What it must be, in the words of an error message. */
  readonly meaning: string;
  readonly pattern: RegExp;
}

/** An answer of the provider; 401, 403, 429, 3xx and 5xx are handled before an adapter sees them. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined when the body is not JSON. */
  readonly body: unknown;
}

/** An adapter's reading of an answer to a poll. */
export type Reading =
  | { readonly kind: "observed"; readonly observation: Observation }
  /** One more request is needed. */
  | {
      readonly kind: "next";
      readonly path: string;
      readonly read: (answer: Answer, job: Job) => Reading;
    }
  /** The key is refused, although the HTTP status is 200. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "limited" }
  /** Not understood; polled again later. */
  | { readonly kind: "unclear" };

export const UNCLEAR = { kind: "unclear" } as const satisfies Reading;

/** Turns an observation into a reading; null means that the answer was not understood. */
export function readingOf(observation: Observation | null): Reading {
  return observation === null ? UNCLEAR : { kind: "observed", observation };
}

/** Accepts every hook as unsigned, for providers that do not sign. */
export async function noSignature(): Promise<Authenticity> {
  return "unsigned";
}

/** Builds the header that carries a key as a bearer token. */
export async function bearer(key: string): Promise<Readonly<Record<string, string>>> {
  return { Authorization: `Bearer ${key}` };
}
