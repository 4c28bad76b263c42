import type { RefusalClass } from "../core/record/refusal.ts";
import type { Job } from "../core/record/upstream.ts";
import { type Observation, phaseIn, provenUrls } from "./observation.ts";

/** Largest length of a job id, in characters. */
const MAX_JOB_ID_CHARS = 512;

/**
 * Description of the calls with which jobs of a provider are submitted, and reader of the answers to them. Each such
 * call is a `POST`. The headers that authenticate it are those of polls, and `HookAdapter` names its fields for hooks.
 */
export interface SubmitAdapter {
  /**
   * Returns what a `POST` to a path starts. Null when it starts no job, e.g. because it lists, deletes or uploads
   * something.
   * @param path path below the base URL as the caller has written it, without a query, e.g. `/v1/predictions`.
   */
  readonly target: (path: string) => SubmitTarget | null;
  /**
   * Returns the class of an answer, with any HTTP status, that proves that the call has started no job. Null for an answer
   * that does not prove this. The provider's own codes decide and, where it documents none, `refusalOfStatus`.
   * @param body parsed JSON body; undefined when the body is not JSON.
   */
  readonly refusal: (status: number, body: unknown) => RefusalClass | null;
  /**
   * Returns what an answer with an HTTP status from 200 to 299 says, unless `refusal` has found it to be a refusal.
   * @param body parsed JSON body; undefined when the body is not JSON.
   * @param path path of the call, for which `target` has returned a target.
   * @param baseUrl base URL of the connection, for relative links.
   */
  readonly readAnswer: (body: unknown, path: string, baseUrl: string) => SubmitReading;
}

/**
 * Description of the call at one path of an upstream: the places of the model and the parameters in the request, and
 * the kind of the answer.
 */
export interface SubmitTarget {
  readonly model: ModelPlace;
  /** Endpoint of the job (see `Endpoint`), as the path states it. Null when polls need no endpoint. */
  readonly endpoint: string | null;
  /**
   * JSON Pointers of the parameters that become metadata of the output, by the names under which they are stored with
   * the task.
   */
  readonly parameters: Pointers;
  /**
   * Content of the answer to an accepted call. `job`: the id of a job; 1 MiB is enough for the answer. `result`: the
   * output itself; the upstream takes no hook URL at this path, and up to 8 MiB are read. `job-or-result`: as the
   * caller asks for; the upstream takes a hook URL, and up to 8 MiB are read.
   */
  readonly answer: "job" | "result" | "job-or-result";
  /**
   * True when the upstream takes multipart bodies at this path. They are passed on unread, so that their model is not
   * known and no hook URL is set. Absent when it takes only JSON.
   */
  readonly takesMultipart?: true;
  /**
   * Values of members, by JSON Pointer, with which the relay could not read the answer. A request with such a value is
   * not sent.
   */
  readonly unreadable?: Readonly<Record<string, readonly (string | boolean)[]>>;
  /**
   * Values that members must have, by JSON Pointer, because the relay could not read the answer otherwise. A request
   * without one of them is not sent.
   */
  readonly required?: Readonly<Record<string, string | boolean>>;
  /**
   * Members with which a call asks for the output itself in the answer, instead of a link to it. Absent when the
   * upstream documents none. For calls whose answer is the result, such members are listed in `unreadable`.
   */
  readonly inline?: InlineMembers;
  /**
   * Other places from which the upstream reads parameters. Absent when it reads them only from the members that are
   * named after them.
   */
  readonly hidden?: HiddenParameters;
  /**
   * Names of the fields for hooks in this call, if they differ from those of the provider's `HookAdapter`. Absent when
   * they do not differ, and when the provider sends no hooks.
   */
  readonly hookParameters?: HookParameters;
  /**
   * Headers that the call needs in addition to the key. The relay sets them instead of the caller. Absent when the call
   * needs none.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * True when the body is a list with one object, in which all pointers and fields begin. Absent when the body is an
   * object.
   */
  readonly isListOfOne?: true;
  /**
   * JSON Pointer of the id of the job in the call, for an upstream whose callers name their jobs. Absent when the answer
   * names the job.
   */
  readonly jobId?: string;
}

/**
 * Where a call states the model: in its path, which gives the name, or in a member of its body. `otherwise` is the name
 * of the model when the member is missing and the upstream chooses the model; absent when the upstream demands the member.
 */
export type ModelPlace =
  | { readonly name: string }
  | { readonly pointer: string; readonly otherwise?: string };

/**
 * Members of a call, by JSON Pointer, that decide whether the answer contains the output itself. It does when a member
 * has one of its values in `asked`, and when a member does not have its value in `linked`. An absent list means that
 * there are none.
 */
export interface InlineMembers {
  readonly asked?: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  readonly linked?: Readonly<Record<string, string | boolean>>;
}

/**
 * Fields of a submit call for hooks. `?name` stands for a query parameter, `a.b` for the field `b` of the object `a`, and
 * `a.b[]` for one that is a list.
 */
export interface HookParameters {
  /** Field that contains the hook URL. */
  readonly parameter: string;
  /** Field that contains the relay's task id and is repeated in hooks. Null when there is no such field. */
  readonly idParameter: string | null;
  /**
   * Field that contains the secret with which the provider then signs the hooks of the job. Absent when the secret is
   * part of the account at the provider.
   */
  readonly secretParameter?: string;
}

/** JSON Pointers (RFC 6901) of members of a request, by the names of these members. No pointer leads through a list. */
export type Pointers = Readonly<Record<string, string>>;

/**
 * Places from which an upstream reads parameters besides the members that are named after them. Limits on the members
 * alone would not bind a caller who knows these places.
 */
export interface HiddenParameters {
  /**
   * Tells whether the JSON text of a request contains such a parameter within a text, even if its characters are
   * escaped. It takes linear time. Null when the upstream reads no parameters from texts.
   */
  readonly isHiddenIn: ((json: string) => boolean) | null;
  /**
   * JSON Pointers of members whose content can replace other parameters. It is not known in advance which parameters
   * they contain.
   */
  readonly pointers: readonly string[];
}

/** The meaning of an answer with an HTTP status from 200 to 299 to a submission. */
export type SubmitReading =
  | { readonly kind: "job"; readonly job: Job }
  /** Result for an answer that accepts the job which the call itself has named (`jobId` of the target). */
  | { readonly kind: "named" }
  /** Result for an answer that is itself the end of the job. `job` is null when the answer names none. */
  | { readonly kind: "result"; readonly job: Job | null; readonly observation: Observation }
  /** Result for an answer with neither the id of a job nor a result. The upstream may have started a job. */
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
 * one with links. A completed job without links counts as a job that is still polled: polls find its links, or decide
 * that it has none.
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

/** Returns the JSON Pointers of these members of the object at a pointer, by their names. `""` is the whole body. */
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
 * Tells whether a text can be a segment of a path that names a model: letters, digits and `_.-`, of which the first is
 * a letter or a digit.
 */
export function isModelSegment(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(text);
}
