import type { RefusalClass } from "../core/record/refusal.ts";
import type { Job } from "../core/record/upstream.ts";
import type { UpstreamError } from "./failure.ts";
import { type Observation, phaseIn, provenUrls } from "./observation.ts";

/** Largest length of a job id, in characters. */
const MAX_JOB_ID_CHARS = 512;

/**
 * Description of the calls with which jobs of a provider are submitted, and reader of the answers to them. Each such
 * call is a `POST`. It is authenticated by the same headers as a poll. The names of its fields for hooks are in
 * `HookAdapter`.
 */
export interface SubmitAdapter {
  /**
   * Returns what a `POST` to a path starts. Null when it starts no job, e.g. because it lists, deletes or uploads
   * something.
   * @param path path below the base URL as the caller has written it, without a query, e.g. `/v1/predictions`.
   */
  readonly target: (path: string) => SubmitTarget | null;
  /**
   * Returns the class of a refusal: an answer, with any HTTP status, which proves that the call has started no job.
   * Null for any other answer. The provider's own error codes decide or, if it documents none, `refusalOfStatus`.
   * @param body parsed JSON body; undefined when the body is not JSON.
   */
  readonly refusal: (status: number, body: unknown) => RefusalClass | null;
  /**
   * Returns the reason of a refusal of the class `final`, with the category that the provider's own error code means.
   * Null when the answer states no reason. Absent when the category follows from the words of the answer, and the code
   * and the text are in usual places (`finalRefusalEnd`).
   */
  readonly refusalError?: (body: unknown) => UpstreamError | null;
  /**
   * Returns the meaning of an answer with an HTTP status from 200 to 299 that is not a refusal (see `refusal`).
   * @param body parsed JSON body; undefined when the body is not JSON.
   * @param path path of the call, for which `target` has returned a description.
   * @param baseUrl base URL of the connection, for relative links.
   */
  readonly readAnswer: (body: unknown, path: string, baseUrl: string) => SubmitReading;
}

/**
 * Description of the submission at one path of an upstream: where the request states the model and the parameters, and
 * what the answer contains.
 */
export interface SubmitTarget {
  readonly model: ModelPlace;
  /** Endpoint of the job (see `Endpoint`), taken from the path. Null when polls need no endpoint. */
  readonly endpoint: string | null;
  /**
   * JSON Pointers of the parameters that become metadata of the output, by the names under which they are stored with
   * the task.
   */
  readonly parameters: Pointers;
  /**
   * Content of the answer to an accepted call:
   * - `job`: the id of a job; 1 MiB is enough for the answer.
   * - `result`: the output itself. The upstream accepts no hook URL at this path, and an object makes the call, which
   *   reads up to 64 MiB (objects/call). Some gateways answer with the id of a job instead.
   * - `job-or-result`: one of both, as the caller asks for. The upstream accepts a hook URL, and up to 8 MiB are read.
   */
  readonly answer: "job" | "result" | "job-or-result";
  /**
   * True when the upstream accepts multipart bodies at this path. If the caller waits for the answer, the relay passes
   * them on without reading them, so that their model is not known and no hook URL is set. In a stored call, each text
   * field of the form counts as a member of the body (`/model` for the field `model`). Absent when the upstream accepts
   * only JSON.
   */
  readonly takesMultipart?: true;
  /**
   * Values of members, by JSON Pointer, that would make the upstream give an answer which the relay cannot read. A
   * request with such a value is not sent.
   */
  readonly unreadable?: MemberValues;
  /**
   * True when the relay accepts a call to this path only if it may make the call itself (`Prefer: respond-async`), so
   * that it can store the files in the answer. An object lists the values of members for which this is so. Absent when
   * the caller may always wait for the answer.
   */
  readonly needsCall?: true | MemberValues;
  /**
   * Pattern of the media types, in lower case and without parameters, of an answer that is not JSON but the output
   * itself, e.g. `audio/mpeg`. Absent when all answers are JSON.
   */
  readonly plainTypes?: RegExp;
  /**
   * Values that members must have, by JSON Pointer, because the relay could not read the answer otherwise. A request in
   * which a member has another value, or is missing, is not sent.
   */
  readonly required?: Readonly<Record<string, string | boolean>>;
  /**
   * Members with which a call asks for the output itself in the answer, instead of for a link to it. Absent when the
   * upstream documents none. For calls whose answer is the result, such members are in `unreadable` instead.
   */
  readonly inline?: InlineMembers;
  /**
   * Other parts of the request from which the upstream takes parameters. Absent when it takes them only from the
   * members that are named after them.
   */
  readonly hidden?: HiddenParameters;
  /**
   * Names of the fields for hooks in this call, if they are not those of the provider's `HookAdapter`. Absent when they
   * are, and when the provider sends no hooks.
   */
  readonly hookParameters?: HookParameters;
  /**
   * Headers that the call needs in addition to the key. The relay sets them instead of the caller. Absent when the call
   * needs none.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * True when the body is a list with one object. All pointers and field names of this description are then relative to
   * that object. Absent when the body is an object.
   */
  readonly isListOfOne?: true;
  /**
   * JSON Pointer to the id of the job in the call, for an upstream whose callers choose the ids of their jobs. Absent
   * when the answer states the id.
   */
  readonly jobId?: string;
}

/** Values of members of a call, by JSON Pointer. */
export type MemberValues = Readonly<Record<string, readonly (string | number | boolean)[]>>;

/**
 * Returns the values of members that a call must not have, because the relay could not read the answer.
 * @param isCall true when the relay makes the call itself, so that it can also read files and streams.
 */
export function unreadableIn(
  { unreadable = {}, needsCall = {} }: SubmitTarget,
  isCall: boolean,
): MemberValues {
  return isCall || needsCall === true ? unreadable : { ...needsCall, ...unreadable };
}

/**
 * Where a call states the model. It is either in the path, and then the name is given here, or in a member of the body.
 * `otherwise` is the name used when the member is missing and the upstream chooses the model; it is absent when the
 * upstream demands the member.
 */
export type ModelPlace =
  | { readonly name: string }
  | { readonly pointer: string; readonly otherwise?: string };

/**
 * Members of a call, by JSON Pointer, that decide whether the answer contains the output itself instead of a link. The
 * answer contains the output when a member has a value that `asked` lists for it, or lacks the value that `linked`
 * gives for it. An absent list means that there are no such members.
 */
export interface InlineMembers {
  readonly asked?: MemberValues;
  readonly linked?: Readonly<Record<string, string | boolean>>;
}

/**
 * Names of the fields of a submission that are about hooks. `?name` stands for a query parameter, `a.b` for the field
 * `b` of the object `a`, and `a.b[]` for such a field that is a list.
 */
export interface HookParameters {
  /** Field of a submission that contains the hook URL. */
  readonly parameter: string;
  /**
   * Field of a submission that contains the relay's task id, which the provider repeats in hooks. Null when there is no
   * such field.
   */
  readonly idParameter: string | null;
  /**
   * Field of a submission that contains the secret with which the provider signs the hooks of this job. Absent when the
   * secret belongs to the account at the provider.
   */
  readonly secretParameter?: string;
}

/** JSON Pointers (RFC 6901) of members of a request, by the names of these members. No pointer leads through a list. */
export type Pointers = Readonly<Record<string, string>>;

/**
 * Parts of a request from which an upstream takes parameters, besides the members that are named after them. The limits
 * in `OFFERS` must cover these parameters too, because a caller could otherwise evade the limits.
 */
export interface HiddenParameters {
  /**
   * Tells whether the JSON text of a request contains a parameter inside a string, also if its characters are escaped.
   * It takes linear time. Null when the upstream reads no parameters from strings.
   */
  readonly isHiddenIn: ((json: string) => boolean) | null;
  /**
   * JSON Pointers to members whose content can replace other parameters. It is not known in advance which parameters
   * they contain.
   */
  readonly pointers: readonly string[];
}

/** The meaning of an answer to a submission that has an HTTP status from 200 to 299. */
export type SubmitReading =
  | { readonly kind: "job"; readonly job: Job }
  /** Result for an answer that accepts the job whose id the call itself has chosen (`jobId` of the target). */
  | { readonly kind: "named" }
  /** Result for an answer that already reports the end of the job. `job` is null when the answer names none. */
  | { readonly kind: "result"; readonly job: Job | null; readonly observation: Observation }
  /** Result for an answer that contains neither the id of a job nor a result. The upstream may have started a job. */
  | { readonly kind: "unclear" };

/**
 * Returns the meaning of an answer that names a job with this id.
 * @param endpoint endpoint of the job; null when polls need none.
 */
export function jobReadingOf(jobId: string | null, endpoint: string | null): SubmitReading {
  return isJobId(jobId) ? { kind: "job", job: { id: jobId, endpoint } } : { kind: "unclear" };
}

/**
 * Returns the meaning of an answer that is a report on the started job. A failed job is a result, and so is a completed
 * job with links. A completed job without links is polled further: polls find its links, or decide that it has none.
 * @param endpoint endpoint of the job; null when polls need none.
 */
export function submitReadingOf(
  observation: Observation | null,
  endpoint: string | null = null,
): SubmitReading {
  const reading = jobReadingOf(observation?.jobId ?? null, endpoint);
  if (reading.kind !== "job" || observation === null || !hasEnded(observation)) return reading;
  return { kind: "result", job: reading.job, observation };
}

/**
 * Returns the meaning of an answer that is a complete result without a job. Files that the answer itself contains are
 * not among the links of the report: whoever stores them adds them.
 * @param report members of the report that the answer states.
 */
export function resultReadingOf(report: Partial<Observation>): SubmitReading {
  const observation = { ...EMPTY_REPORT, ...report };
  return { kind: "result", job: null, observation };
}

const EMPTY_REPORT: Observation = {
  jobId: null,
  state: "completed",
  urls: [],
  metadata: {},
  completedAt: null,
  error: null,
};

/**
 * Returns the meaning of an answer that is not JSON, by its media type: the result, or nothing that the relay can use,
 * e.g. the HTML page of a proxy.
 */
export function plainReadingOf({ plainTypes }: SubmitTarget, mediaType: string): SubmitReading {
  return plainTypes?.test(mediaType) === true ? resultReadingOf({}) : { kind: "unclear" };
}

/**
 * Returns the JSON Pointers of the members with these names in one object of the body, by their names. The object is
 * given by its own pointer; `""` is the whole body.
 */
export function membersAt(object: "" | `/${string}`, names: readonly string[]): Pointers {
  return Object.fromEntries(names.map((name) => [name, `${object}/${name}`]));
}

function hasEnded(observation: Observation): boolean {
  const phase = phaseIn(observation);
  return phase === "failed" || (phase === "completed" && provenUrls(observation).length > 0);
}

/**
 * Tells whether an id can be that of a job. The id becomes a segment of the URLs of polls, so it must be well-formed
 * Unicode, and must not be `.` or `..`, which would lead to another URL.
 */
export function isJobId(id: string | null): id is string {
  if (id === null || id.length > MAX_JOB_ID_CHARS || !id.isWellFormed()) return false;
  // In place of what was lost of the id.
  if (id.includes("\ufffd")) return false;
  return !["", ".", ".."].includes(id);
}

/**
 * Tells whether a text can be a path segment that names a model: it consists of letters, digits and `_.-`, and begins
 * with a letter or a digit.
 */
export function isModelSegment(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(text);
}
