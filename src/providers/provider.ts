import type { JsonValue } from "../core/json.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Answer } from "./provider-answer.ts";
import type { CancelAdapter } from "./cancel.ts";
import { isAboutKey } from "./failure-words.ts";
import type { JobCallAdapter } from "./job-calls.ts";
import type { Observation } from "./observation.ts";
import type { SimulatedProvider } from "./simulated-provider.ts";
import type { HookParameters, SubmitAdapter } from "./submit.ts";

/**
 * Proof of its origin that a hook gives when the connection is fully configured:
 * - `body-signed`: the provider has written the body.
 * - `request-signed`: the provider has sent the request, but somebody else may have written the body.
 * - `capability-url`: the sender knows the hook URL; nothing more is proved.
 */
export type Assurance = "body-signed" | "request-signed" | "capability-url";

/**
 * A connection: the base URL of a provider and the credentials for it, under a name. The name of the default connection
 * is that of the provider.
 */
export interface Connection {
  readonly name: string;
  readonly provider: Provider;
  /** Base URL of requests: `https://host` with an optional path prefix, without a slash at the end. */
  readonly baseUrl: string;
  /**
   * API key for the provider. Null when there is none, so that the provider cannot be polled; empty when the provider
   * needs no key.
   */
  readonly key: string | null;
  /**
   * Secret with which the provider signs its hooks. Null when none is configured; signatures made with such a secret
   * are then not verified.
   */
  readonly webhookSecret: string | null;
  /** The operator's user id at the provider, which some providers write into hooks. Null when it is not configured. */
  readonly userId: string | null;
  /** URL at which the provider publishes the keys with which it signs its hooks. Null when it publishes none. */
  readonly jwksUrl: string | null;
  /** Polls per minute that the provider permits for the API key. Null when this is not known. */
  readonly pollsPerMinute: number | null;
  /** Largest number of jobs that may be in flight with the API key. Null when the relay does not limit them. */
  readonly inFlight: number | null;
  /** Largest number of submissions to this name that may wait for a place, i.e. until they may be in flight. */
  readonly queueLimit: number;
  /**
   * Members of a pool. All other properties of a pool, except name and limits, are those of its first member with an
   * API key, which also answers calls that belong to no job. Null for a connection that is no pool.
   */
  readonly pool: Pool | null;
}

/** Connections to one provider among which the relay chooses for each submission to the name of the pool. */
export interface Pool {
  /** The members in the order in which they are preferred. None of them is a pool. */
  readonly members: readonly Connection[];
  /** True when a job that has failed is submitted once to each further member (`failures`). */
  readonly submitsFailedAgain: boolean;
}

/** Returns the connections with which a job may run that is submitted to a name: the members of a pool, or itself. */
export function membersOf(connection: Connection): readonly Connection[] {
  return connection.pool?.members ?? [connection];
}

/**
 * Returns the connections in whose queues a submission waits for a place, unless it uses a customer's key: the members
 * of a pool that have an API key, or the connection itself. Empty for a connection whose jobs are not limited.
 */
export function queuesOf(connection: Connection): readonly Connection[] {
  if (connection.pool === null && connection.inFlight === null) return [];
  return membersOf(connection).filter(({ key }) => key !== null);
}

/**
 * Returns the connection with which the call of a submission is sent: the member that has a place for it, under the name
 * to which the submission is addressed.
 */
export function asMember({ name, pool }: Connection, member: Connection): Connection {
  return { ...member, name, pool };
}

/** Returns the API keys and webhook secrets of a connection or of the members of a pool. */
export function secretsOf(connection: Connection): readonly (string | null)[] {
  return membersOf(connection).flatMap(({ key, webhookSecret }) => [key, webhookSecret]);
}

/**
 * Returns a copy of a connection for calls with a customer's own key. The copy has this key, and nothing that verifies
 * the hooks of the operator's account.
 */
export function withCustomerKey(connection: Connection, key: string | null): Connection {
  return { ...connection, key, webhookSecret: null, userId: null, jwksUrl: null };
}

/**
 * Tells whether the relay can ask a provider to cancel a job.
 * @param hasCustomerKey true when the call is made with a key of the customer, so that the connection needs no key.
 */
export function canCancel(
  { provider, key }: Connection,
  job: Job,
  hasCustomerKey: boolean,
): boolean {
  if (provider.polls === null) return true;
  return (hasCustomerKey || key !== null) && (provider.cancels?.request(job) ?? null) !== null;
}

/** A source of results: an upstream service, or a simulation of one. */
export type Provider = UpstreamProvider | SimulatedProvider;

/**
 * Adapter for one upstream service. It describes requests to the service, and reads the service's answers and
 * hooks. An adapter never sends anything, and never throws, whatever the service writes.
 */
export interface UpstreamProvider {
  /** Name of the provider in the field `provider` and in the path of hooks, e.g. `ark`. */
  readonly name: string;
  /**
   * Names of the variables that configure the default connection, whose name is that of the provider. Absent for an
   * upstream that is described by a declaration.
   */
  readonly variables?: ProviderVariables;
  /**
   * Base URLs that a connection may have; the first one is the default. Credentials are sent only to the hosts of these
   * URLs, to those of `hostsOfCustomers`, and to those that the operator allows in `EXTRA_BASE_HOSTS`. Null for a
   * provider that operators run themselves: each connection then names its own host.
   */
  readonly baseUrls: readonly [string, ...string[]] | null;
  /**
   * Pattern of further hosts that a connection may use. The provider assigns such a host to each of its customers.
   */
  readonly hostsOfCustomers?: HostPattern;
  /** Those base URLs of `baseUrls` from which the provider sends no hooks. Absent when there are none. */
  readonly hooklessBaseUrls?: readonly string[];
  /**
   * URL at which the provider publishes the keys with which it signs its hooks, as a JWK set (RFC 7517). Absent when it
   * publishes none.
   */
  readonly jwksUrl?: string;
  /** Tells whether a text can be the secret with which the provider signs hooks. Absent when any text can be. */
  readonly isWebhookSecret?: (secret: string) => boolean;
  /** Reader of the provider's hooks; null when the provider sends none. */
  readonly hooks: HookAdapter | null;
  /**
   * Time for which the links of a result work. `stated` means that the report on each job states the time. Null means
   * that the provider documents none.
   */
  readonly linkLife: LinkLife | "stated" | null;
  /**
   * Tells whether a link on the host of the connection can be opened only with the API key. Absent when all links of
   * the provider can be opened without it.
   */
  readonly needsKey?: (link: URL) => boolean;
  readonly polls: PollAdapter;
  /**
   * Names of the numbers that the provider states as the consumption or cost of a job, and on which a price may depend.
   * Absent when it states none.
   */
  readonly usageNames?: readonly string[];
  /** Description of the calls that start jobs. Absent when the relay cannot submit jobs to the provider. */
  readonly submits?: SubmitAdapter;
  /** Description of the call that cancels a job. Absent when the provider documents none. */
  readonly cancels?: CancelAdapter;
  /**
   * Description of the calls with which clients read and cancel jobs that they have submitted through the relay. Absent
   * when the relay cannot submit jobs to the provider.
   */
  readonly jobCalls?: JobCallAdapter;
}

/** A provider with a default connection, and the names of the variables that configure it. */
export type NamedProvider = UpstreamProvider & { readonly variables: ProviderVariables };

/**
 * Pattern of hosts whose names only the provider can assign to its customers, so that an API key sent to such a host
 * reaches nobody but the provider.
 */
export interface HostPattern {
  /** Text that describes the hosts, e.g. `https://{workspace}.{region}.example.com`. */
  readonly form: string;
  /** Pattern of a permitted host with its scheme: `https://` and the host, without a path. */
  readonly pattern: RegExp;
}

/** Time for which the links of a result work, in milliseconds from the end of the job. */
export interface LinkLife {
  readonly minMs: number;
  /**
   * Longest time in milliseconds for which the links work. Null when the operator can choose a longer time in the
   * account at the provider.
   */
  readonly maxMs: number | null;
}

/**
 * Names of the variables that configure the default connection of a provider. An absent name means that the
 * provider has no such setting.
 */
export interface ProviderVariables {
  readonly key: string;
  readonly baseUrl: string;
  readonly webhookSecret?: string;
  readonly userId?: string;
}

export interface HookAdapter extends HookParameters {
  readonly assurance: Assurance;
  /**
   * True when only some installations of the provider send hooks. Hooks are then expected only if the provider signs
   * their bodies and the connection is configured to verify the signatures.
   */
  readonly isOptional?: true;
  /**
   * True when the provider signs hooks with the API key of the connection. Absent when it signs them with a webhook
   * secret or with keys that it publishes, and when it does not sign them.
   */
  readonly isSignedWithKey?: true;
  /**
   * Returns the answer to a handshake, i.e. to a request with which the provider tests the hook URL before it sends
   * hooks. Null when `body` is no such request.
   */
  readonly preflight?: (body: unknown) => string | null;
  /** Checks the signature of a hook. The result is `unsigned` when the secret for the check is not configured. */
  readonly authenticate: (
    hook: Hook,
    connection: Connection,
    context: HookContext,
  ) => Promise<Authenticity>;
  /** Returns the report on a job that a hook states. Null when the hook cannot be understood. */
  readonly read: (body: unknown, hook: Hook) => Observation | null;
}

/**
 * The request with which a provider sends a hook. It is passed unchanged, because a signature may cover any part of it.
 */
export interface Hook {
  /** Path of the hook request, e.g. `/hooks/vidu/…`. */
  readonly path: string;
  /** Query string of the hook request, without the question mark. */
  readonly query: string;
  readonly headers: Headers;
  /**
   * Reads the body of the hook. An adapter calls it only if the headers alone do not show that the hook is refused,
   * because waiting for a body that never ends takes up to 30 seconds.
   */
  readonly readBody: () => Promise<Uint8Array<ArrayBuffer>>;
}

export interface HookContext {
  /** Time at which the hook arrived, in Unix milliseconds. */
  readonly now: number;
  /**
   * Returns the Ed25519 keys that a provider publishes at `url`. Null when they cannot be fetched.
   * @param isFresh true to fetch them again, because the needed key was not among the cached ones.
   */
  readonly publicKeys: (url: string, isFresh: boolean) => Promise<readonly CryptoKey[] | null>;
}

export type Authenticity =
  /** Result for a hook whose body the provider has signed for this account. Such a hook can end its task. */
  | "signed"
  /**
   * Result for a hook that does not end its task while the job can be polled. Either no signature proves that the
   * provider wrote the hook for this account, or a poll finds better links.
   */
  | "unsigned"
  /** Result for a hook whose signature is missing or wrong. */
  | "refused"
  /** Result for a hook while the keys that verify its signature cannot be fetched. */
  | "unavailable";

/** Reader of the answers to one of the requests of a poll. */
export interface AnswerReader {
  /**
   * Returns what an answer to a poll says.
   * @param baseUrl base URL of the connection, for relative links.
   */
  readonly read: (answer: Answer, job: Job, baseUrl: string) => Reading;
  /**
   * True when `read` gets answers with every HTTP status, because any of them can report the failure of the job itself.
   * When it is absent, `read` gets only answers with a status from 200 to 299.
   */
  readonly readsEveryStatus?: true;
}

export interface PollAdapter extends AnswerReader {
  /** Minimum time between two polls of one task, in milliseconds. */
  readonly gapMs: number;
  /**
   * Polls per minute that the provider permits for one API key, by its documentation. Absent when this is not
   * known.
   */
  readonly perMinute?: number;
  /**
   * Time in milliseconds for which the provider remembers a job, by its documentation. The relay counts it from the
   * creation of the task, because it does not know when the job was submitted. Null when the documentation states no
   * time.
   */
  readonly maxAgeMs: number | null;
  /**
   * Rules for the field `endpoint` of the request that attaches a job to a task, if polls of this provider need it
   * besides the id of the job. Null when the id is enough.
   */
  readonly endpoint: Endpoint | null;
  /**
   * Header in which the provider expects its API key, and in which customers with a key of their own send it. Absent
   * when the key is a bearer token in `Authorization`.
   */
  readonly keyHeader?: KeyHeader;
  /** True for an upstream that needs no API key. Absent for all others. */
  readonly takesNoKey?: true;
  /**
   * True for an upstream whose answers to calls are their results, so that there are no jobs to ask for. Absent for all
   * others.
   */
  readonly hasNoJobs?: true;
  /** Returns the headers that authenticate a request at the time `now`, in Unix milliseconds. */
  readonly headers: (key: string, now: number) => Promise<Readonly<Record<string, string>>>;
  /** Returns path and query of a poll of a job, relative to the base URL. */
  readonly path: (job: Job) => string;
  /** Returns the JSON body of a poll of a job; the poll is then a POST. Absent for a provider that is polled by GET. */
  readonly body?: (job: Job) => JsonValue;
  /**
   * True when the provider's answers repeat the task id or the hook URL of the submission (`taskId` and `hookUrl` of
   * the observation), and a job can be polled by its id alone. A poll then shows to which task a job belongs.
   */
  readonly namesTask?: true;
  /**
   * True when the provider's answers state the model and the creation time of a job (`model` and `submittedAt` of the
   * observation). They then show whether a job that a hook names can be the one that a certain submission has started.
   */
  readonly statesCreation?: true;
  /**
   * Pattern of those model names in submissions that answers do not repeat, e.g. ids of endpoints: answers then state
   * the model behind such a name. Absent when answers repeat every name.
   */
  readonly modelAliases?: RegExp;
}

/** A header in which a provider expects its API key. */
export interface KeyHeader {
  readonly name: string;
  /**
   * Schemes that may stand before the key in the header, e.g. `Bearer`. Empty when the header contains only the key.
   */
  readonly schemes: readonly string[];
}

/**
 * A provider's rules for the field `endpoint` of the request that attaches a job to a task. The field contains the part
 * of the job's URL at the provider, e.g. the path of its model, that polls need in addition to the job's id.
 */
export interface Endpoint {
  readonly isRequired: boolean;
  /** Text that says in an error message what the endpoint is, e.g. "v2 for a job of the v2 API". */
  readonly meaning: string;
  readonly pattern: RegExp;
}

/**
 * The meaning of a provider's answer to a poll, as an adapter has read it: a report on the job, the need for one more
 * request, a refusal, or the finding that the answer was not understood.
 */
export type Reading =
  | { readonly kind: "observed"; readonly observation: Observation }
  /**
   * Result for an answer that is not enough: the adapter needs one more request, e.g. for the output of the job.
   */
  | ({ readonly kind: "next"; readonly path: string } & AnswerReader)
  /** Result for an answer with which the provider refuses the API key. */
  | { readonly kind: "unauthorized" }
  | { readonly kind: "limited" }
  /**
   * Result for an answer that was not understood, with the state or code in it as `word`. The job is polled again
   * later.
   */
  | { readonly kind: "unclear"; readonly word?: string | null };

export const UNCLEAR = { kind: "unclear" } as const satisfies Reading;

/**
 * Returns the result of reading an answer: the report on the job or, for null, that the answer was not understood.
 */
export function readingOf(observation: Observation | null): Reading {
  return observation === null ? UNCLEAR : { kind: "observed", observation };
}

/**
 * Returns the result of reading an answer of a provider whose answers usually name the job. The answer counts as not
 * understood when it names no job and may be about something else, e.g. about a server.
 */
export function provenReadingOf(observation: Observation | null): Reading {
  const isUnproven = observation?.jobId === null && isOfServer(observation);
  return readingOf(isUnproven ? null : observation);
}

/**
 * Pattern of states that describe a server or its answer and not a job, e.g. the state in `{"status": "ok"}` of a
 * proxy.
 */
const OF_SERVERS = /^(?:ok|success|ready|error|fail|failure)$/i;

/**
 * Tells whether the state in a report may be that of a server in front of the upstream, or of the request, instead of
 * that of a job. This is so when the report has no link, and either its state is a word with which servers describe
 * themselves, or its error is about the API key. False when the adapter states the phase, as for a declared upstream:
 * its operator has declared what the words mean.
 */
export function isOfServer({ state, phase, urls, error }: Observation): boolean {
  if (phase !== undefined || urls.length > 0) return false;
  const { code, text } = error ?? { code: null, text: null };
  return OF_SERVERS.test(state ?? "") || isAboutKey({ code: code ?? "", text: text ?? "" });
}

/**
 * Returns the report of a hook unchanged if it names a job, otherwise null. It is for providers whose hooks always name
 * the job.
 */
export function reportNamingJob(observation: Observation | null): Observation | null {
  return observation?.jobId == null ? null : observation;
}

/** Returns `unsigned` for every hook. It is for providers that do not sign their hooks. */
export async function noSignature(): Promise<Authenticity> {
  return "unsigned";
}

/** Returns the header `Authorization` with an API key as bearer token. */
export async function bearer(key: string): Promise<Readonly<Record<string, string>>> {
  return { Authorization: `Bearer ${key}` };
}
