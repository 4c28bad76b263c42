import type { Job } from "../core/record/upstream.ts";
import type { Observation } from "./observation.ts";
import type { SimulatedProvider } from "./simulated-provider.ts";

/**
 * Proof that a hook carries when the connection is fully configured. `body-signed`: the provider wrote the
 * body. `request-signed`: the provider sent the request, but its body may come from somebody else.
 * `capability-url`: the sender knows the hook URL, and nothing more is proved.
 */
export type Assurance = "body-signed" | "request-signed" | "capability-url";

/**
 * A connection: named credentials and a base URL for a provider. The default connection has the provider's
 * name.
 */
export interface Connection {
  readonly name: string;
  readonly provider: Provider;
  /** Base URL of requests: `https://host` and path prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** API key of the provider; null means that the provider cannot be polled. */
  readonly key: string | null;
  /** Secret that the provider signs its hooks with; null means that the signature cannot be verified. */
  readonly webhookSecret: string | null;
  /** The operator's user id at the provider, for hooks that name the user; null when not configured. */
  readonly userId: string | null;
  /** URL of the keys that sign the provider's hooks; null where it publishes none. */
  readonly jwksUrl: string | null;
  /** Polls per minute that the provider permits to the API key; null when unknown. */
  readonly pollsPerMinute: number | null;
}

/** A source of results: an upstream service, or a simulation of one. */
export type Provider = UpstreamProvider | SimulatedProvider;

/**
 * Adapter for one upstream service: describes requests to it and reads its answers and hooks. An adapter never
 * sends anything, and never throws, whatever the upstream writes.
 */
export interface UpstreamProvider {
  /** Name of the provider, as in the field `provider` and in the path of hooks, e.g. `ark`. */
  readonly name: string;
  /** Names of the variables that configure the connection with the provider's own name. */
  readonly variables: ProviderVariables;
  /**
   * Base URLs that a connection may name; the first is the default. Credentials are sent only to these hosts,
   * to those of `hostsOfCustomers`, and to those that the operator allows in `EXTRA_BASE_HOSTS`. Null for a
   * provider that operators run themselves: each connection names its own host.
   */
  readonly baseUrls: readonly [string, ...string[]] | null;
  /** Further hosts that a connection may name, of which the provider has one for each of its customers. */
  readonly hostsOfCustomers?: HostPattern;
  /** Those of `baseUrls` at which the provider sends no hooks. */
  readonly hooklessBaseUrls?: readonly string[];
  /** URL of the keys that sign the provider's hooks, as a JWK set (RFC 7517). */
  readonly jwksUrl?: string;
  /** Tells whether a text can be the secret of the provider's hooks; absent means that any can. */
  readonly isWebhookSecret?: (secret: string) => boolean;
  /** Reader of the provider's hooks; null when the provider sends none. */
  readonly hooks: HookAdapter | null;
  /**
   * Time for which the links of a result can be opened; `stated` where every job states its own. Null means
   * that the provider documents none.
   */
  readonly linkLife: LinkLife | "stated" | null;
  readonly polls: PollAdapter;
}

/** Pattern of hosts that only the provider can assign, so that an API key sent there reaches nobody else. */
export interface HostPattern {
  /** Text that describes the hosts, e.g. `https://{workspace}.{region}.example.com`. */
  readonly form: string;
  /** Pattern of a permitted host with its scheme: `https://` and the host, without a path. */
  readonly pattern: RegExp;
}

/** Time for which links can be opened, in milliseconds from the end of the job. */
export interface LinkLife {
  readonly minMs: number;
  /** Longest life; null when the operator can choose a longer time in the account at the provider. */
  readonly maxMs: number | null;
}

/**
 * Names of the variables that configure the default connection to a provider, which has the provider's name;
 * an absent name means that the provider has no such setting.
 */
export interface ProviderVariables {
  readonly key: string;
  readonly baseUrl: string;
  readonly webhookSecret?: string;
  readonly userId?: string;
}

export interface HookAdapter {
  readonly assurance: Assurance;
  /**
   * States that only some installations of the provider send hooks. Hooks are then expected only where the
   * connection has a webhook secret.
   */
  readonly isOptional?: true;
  /**
   * Field of the submit call that takes the hook URL, `?name` where it is a query parameter, `a.b` where it is
   * the field `b` of the object `a`.
   */
  readonly parameter: string;
  /** Field of the submit call that takes the relay's task id and is echoed in hooks; null for none. */
  readonly idParameter: string | null;
  /**
   * Returns the answer to a handshake: a request by which the provider tests the hook URL before it sends
   * hooks. Null when `body` is no such request.
   */
  readonly preflight?: (body: unknown) => string | null;
  /** Checks the signature of a hook; without the secret for the check, the result is `unsigned`. */
  readonly authenticate: (
    hook: Hook,
    connection: Connection,
    context: HookContext,
  ) => Promise<Authenticity>;
  /** Reads a hook as a report on a job; null when the hook cannot be understood. */
  readonly read: (body: unknown, hook: Hook) => Observation | null;
}

/** The request in which a provider sends a hook, unchanged, because a signature may cover each part of it. */
export interface Hook {
  /** Path of the hook request, e.g. `/hooks/vidu/…`. */
  readonly path: string;
  /** Query string of the hook request, without the question mark. */
  readonly query: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface HookContext {
  /** Time at which the hook arrived, in Unix milliseconds. */
  readonly now: number;
  /**
   * Fetches the Ed25519 keys published at `url`; null when unreachable.
   * @param isFresh true to bypass the cache, because a key was missing.
   */
  readonly publicKeys: (url: string, isFresh: boolean) => Promise<readonly CryptoKey[] | null>;
}

export type Authenticity =
  /** Result for a hook whose body the provider has signed for this account, so that it may end its task. */
  | "signed"
  /**
   * Result for a hook that is not relied on while the job can be polled: no signature proves that the
   * provider wrote it for this account, or a poll finds better links.
   */
  | "unsigned"
  /** Result for a hook whose signature is missing or wrong. */
  | "refused"
  /** Result while the keys that verify the signature cannot be fetched. */
  | "unavailable";

/** Reader of the answers to one request of a poll. */
export interface AnswerReader {
  /** Interprets an answer to a poll. @param baseUrl base URL of the connection, for relative links. */
  readonly read: (answer: Answer, job: Job, baseUrl: string) => Reading;
  /**
   * States that answers of every HTTP status are read, because any of them can be the failure of the job
   * itself; otherwise only those with a status from 200 to 299.
   */
  readonly readsEveryStatus?: true;
}

export interface PollAdapter extends AnswerReader {
  /** Minimum time between two polls of one task, in milliseconds. */
  readonly gapMs: number;
  /** Polls per minute that the provider permits to one API key by its documents; absent when unknown. */
  readonly perMinute?: number;
  /** Time after which the provider forgets a job, in milliseconds; null when unknown. */
  readonly maxAgeMs: number | null;
  /**
   * Rules for the field `endpoint` of the request by which a job is attached to a task, if polls of this
   * provider need more than the id of the job; null when the id is enough.
   */
  readonly endpoint: Endpoint | null;
  /** Builds the headers that authenticate a request at the time `now`, in Unix milliseconds. */
  readonly headers: (key: string, now: number) => Promise<Readonly<Record<string, string>>>;
  /** Builds the path and query of a request about a job, relative to the base URL. */
  readonly path: (job: Job) => string;
  /**
   * States that answers repeat the input of the job, perhaps with whole images. Up to 8 MiB are read of such
   * an answer, of others up to 1 MiB.
   */
  readonly echoesInput?: true;
  /**
   * States that the provider's answers repeat the task id or the hook URL of the submit call (`taskId` and
   * `hookUrl` of the observation), so that a job shows whose task it belongs to, and that the id of a job is
   * enough to poll it.
   */
  readonly namesTask?: true;
}

/**
 * A provider's rules for the field `endpoint`, with which a job is attached to a task: the part of the job's
 * URL at the provider, e.g. the path of its model, that polls of the job need besides its id.
 */
export interface Endpoint {
  readonly isRequired: boolean;
  /** Text that tells in an error message what the endpoint is, e.g. "v2 for a job of the v2 API". */
  readonly meaning: string;
  readonly pattern: RegExp;
}

/** The HTTP answer of a provider to a request about a job. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON body; undefined when the body is not JSON. */
  readonly body: unknown;
}

/**
 * A provider's answer to a poll as the adapter reads it: a report on the job, the need for one more request,
 * or a refusal.
 */
export type Reading =
  | { readonly kind: "observed"; readonly observation: Observation }
  /** Result for an answer after which the adapter needs one more request, e.g. for the output of the job. */
  | ({ readonly kind: "next"; readonly path: string } & AnswerReader)
  /** Result for an answer by which the provider refuses the API key, although the HTTP status is 200. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "limited" }
  /** Result for an answer that was not understood, with the state or code that it names; the job is polled again later. */
  | { readonly kind: "unclear"; readonly word?: string | null };

export const UNCLEAR = { kind: "unclear" } as const satisfies Reading;

/**
 * Returns a provider's report on a job as the result of reading an answer; a report of null means that the
 * answer was not understood.
 */
export function readingOf(observation: Observation | null): Reading {
  return observation === null ? UNCLEAR : { kind: "observed", observation };
}

/** Accepts every hook as unsigned, for providers that do not sign. */
export async function noSignature(): Promise<Authenticity> {
  return "unsigned";
}

/** Builds the `Authorization` header that carries an API key as a bearer token. */
export async function bearer(key: string): Promise<Readonly<Record<string, string>>> {
  return { Authorization: `Bearer ${key}` };
}
