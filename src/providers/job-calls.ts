import type { JsonObject } from "../core/json.ts";
import { isJobId, isModelSegment } from "./submit.ts";

/**
 * Description of the calls about jobs that clients of a provider, e.g. its SDKs, make in addition to submissions: they
 * read a job that they have submitted, cancel it, fetch its output, upload files for later jobs, and look up what belongs
 * to no job, e.g. a version of a model. Such a call is authenticated by the same headers as a poll.
 */
export interface JobCallAdapter {
  /** Paths at which, according to the provider's documentation, a `GET` reads a job. */
  readonly read: readonly JobPath[];
  /**
   * Parameters in the query of a call that are passed on to the provider, by name, each with the values that are passed
   * on. All other parameters are left out, so that two calls with the same meaning have the same URL. Absent when no
   * parameters are passed on.
   */
  readonly query?: Readonly<Record<string, readonly string[]>>;
  /**
   * Description of the calls to which the provider answers with a stream of the states of a job. Absent when there are
   * none.
   */
  readonly stream?: JobStream;
  /**
   * JSON Pointers (RFC 6901) to those links in a provider's answers to submissions and reads that lead to calls about
   * the job. The relay replaces these links by links to itself if they lead to a base URL of the provider or to one of
   * `linkHosts`. Absent when the answers have no such links.
   */
  readonly links?: readonly string[];
  /**
   * Pattern of further origins to which the links may lead, e.g. those of the provider's regions. Absent when there are
   * none.
   */
  readonly linkHosts?: RegExp;
  /** The call that cancels a job. Absent when the provider documents none. */
  readonly cancel?: JobCancel;
  /** The `GET` to which the provider answers with an output of a job. Absent when there is none. */
  readonly content?: JobContent;
  /**
   * Exact paths at which a `POST` uploads a file for later jobs. A path may contain a query, which is sent in place of
   * the caller's query. Absent when the provider takes no uploads.
   */
  readonly uploads?: readonly `/${string}`[];
  /**
   * Origin to which uploads are sent, for connections whose base URL is one of the provider's. Absent when uploads are
   * sent to the base URL.
   */
  readonly uploadOrigin?: `https://${string}`;
  /** Calls by `GET` that read something other than a job. Absent when the provider's SDKs make none. */
  readonly lookups?: readonly Lookup[];
  /**
   * Returns the body for an error of the relay itself, in the form of the provider's errors, which the provider's SDKs
   * can read.
   */
  readonly errorBody: (status: number, message: string) => JsonObject;
}

/**
 * Description of the calls to which a provider answers with a stream of server-sent events. The `data` of each event is
 * what the provider would answer to a read of the job.
 */
export interface JobStream {
  /** Path at which a job is read without a stream: one of `JobCallAdapter.read`. */
  readonly of: JobPath;
  /** Text that a call for a stream appends to the path at which the job is read. */
  readonly ending: `/${string}`;
  /** Tells whether the stream ends after the event with this content, because the job has ended. */
  readonly isLast: (body: unknown) => boolean;
}

/**
 * Template of the path of a call about a job, below the base URL. `{id}` stands for the id of the job, which is one
 * segment or a part of one. `{endpoint}` stands for one or more segments with which the endpoint of the job begins.
 * Parameters of the query may follow after a question mark. One of them may have `{id}` as its value, e.g.
 * `/v1/get_result?id={id}`; the others are always sent as they are written here.
 */
export type JobPath = `/${string}`;

/** A `GET` that an SDK makes beside its jobs, e.g. to read a version of a model. */
export interface Lookup {
  /** Path, in which `{id}` and `{endpoint}` stand for parts of the name of what is looked up. */
  readonly path: JobPath;
  /** True when the answer permits the caller to upload a file, so that the call counts as part of an upload. */
  readonly permitsUpload: boolean;
}

/** A provider's call that cancels a job, and the answers to it. */
export interface JobCancel {
  readonly method: ChangeMethod;
  readonly paths: readonly JobPath[];
  /**
   * The answers to the call. With `read`, a path of `JobCallAdapter.read`, the provider answers with the present
   * description of the job, whether it cancels the job or not.
   */
  readonly answer: CancelAnswers | { readonly read: JobPath };
}

/** The provider's answers to a call that cancels a job. */
export interface CancelAnswers {
  /**
   * Returns the answer for the case that the job is canceled, or that the provider has accepted the order to cancel it.
   */
  readonly done: (jobId: string) => CallAnswer;
  /**
   * Answer to the call when the job had ended before. Absent when the provider then answers with the error whose HTTP
   * status is `refused`.
   */
  readonly ended?: CallAnswer;
  /** HTTP status of the error about a job that the provider does not cancel, e.g. because it is already running. */
  readonly refused: number;
}

export interface CallAnswer {
  readonly status: number;
  /** JSON body of the answer; null when it has none. */
  readonly body: JsonObject | null;
}

/** A provider's call to which the answer is an output of a job. */
export interface JobContent {
  readonly path: JobPath;
  /**
   * Name of the query parameter with the number of the output, counted from 0. Absent when only the first output can be
   * fetched.
   */
  readonly index?: string;
}

export type ChangeMethod = "POST" | "PUT" | "DELETE";
export type CallMethod = "GET" | ChangeMethod;

/**
 * The call about a job, or auxiliary call, that a request to the relay makes, as an adapter has recognised it.
 * Submissions are not among these calls.
 */
export type JobCall = ReadCall | CancelCall | ContentCall | AuxiliaryCall;

/** The job that a call names. */
export interface NamedJob {
  readonly jobId: string;
  /** Beginning of the endpoint of the job as the path names it. Null for a path that names no endpoint. */
  readonly endpoint: string | null;
}

export interface ReadCall extends NamedJob {
  /** `stream` when the answer to the call is a stream of states (`JobStream`), `read` when it is the present state. */
  readonly kind: "read" | "stream";
  /**
   * Path and query with which the provider is called, relative to the base URL. The id is written as in polls, so that
   * a read and a poll of the same job have the same URL.
   */
  readonly target: string;
}

export interface CancelCall extends NamedJob {
  readonly kind: "cancel";
  /**
   * The answers to the call. With `read`, the provider answers as it does to a read of the job at this path, relative
   * to the base URL.
   */
  readonly answer: CancelAnswers | { readonly read: string };
}

export interface ContentCall extends NamedJob {
  readonly kind: "content";
  /** Path and query of the call to the provider, relative to the base URL. */
  readonly target: string;
  /** Number of the output among those of the job, counted from 1. */
  readonly number: number;
}

/** A call of an SDK that is about no job: it uploads a file for later jobs, or looks something up. */
export interface AuxiliaryCall {
  readonly kind: "upload" | "lookup";
  /** Path and query with which the provider is called, relative to the base URL or, for an upload, to `uploadOrigin`. */
  readonly target: string;
  /** True when the call uploads a file, or its answer permits an upload. */
  readonly isForUpload: boolean;
}

/** Pattern of a placeholder in the template of a path. */
const PLACE = /\{(?:id|endpoint)\}/g;
/** Placeholder for the endpoint of a job in the template of a path. It stands for one or more segments. */
const ENDPOINT = "{endpoint}";
/**
 * Placeholder for the id of a job in the template of a path. It stands for a segment or a part of one, or for a value
 * in the query.
 */
const ID = "{id}";
/** Pattern of a text in a path that may be the id of a job. */
const ID_TEXT = /^[\w.~!$&'()*+,;=:@-]+$/;
/** Largest length of the path of a request that is compared with templates, in characters. */
const MAX_PATH_CHARS = 1_024;

/**
 * Returns the call about a job, or the auxiliary call, that a request makes. Null for any other request, e.g. a
 * submission.
 * @param path path below the base URL, as the caller has written it, with a slash at the beginning and no percent
 * signs.
 * @param query query without the question mark; empty for none.
 */
export function jobCallOf(
  adapter: JobCallAdapter,
  method: CallMethod,
  path: string,
  query: string,
): JobCall | null {
  if (path.length > MAX_PATH_CHARS) return null;
  const given = new URLSearchParams(query);
  if (method === "GET") {
    const aboutJob = contentCall(adapter, path, given) ?? readCall(adapter, path, given);
    return aboutJob ?? lookupCall(adapter, path, given);
  }
  const upload = adapter.uploads?.find((each) => each.split("?")[0] === path);
  if (method === "POST" && upload !== undefined) {
    return { kind: "upload", target: upload, isForUpload: true };
  }
  return cancelCall(adapter, method, path, given);
}

function lookupCall(
  { lookups = [] }: JobCallAdapter,
  path: string,
  given: URLSearchParams,
): AuxiliaryCall | null {
  for (const { path: template, permitsUpload: isForUpload } of lookups) {
    const found = matched(template, path, given);
    if (found !== null)
      return { kind: "lookup", target: targetOf(template, found, []), isForUpload };
  }
  return null;
}

function cancelCall(
  { cancel }: JobCallAdapter,
  method: CallMethod,
  path: string,
  given: URLSearchParams,
): CancelCall | null {
  if (cancel?.method !== method) return null;
  const { paths, answer } = cancel;
  const matches = paths.map((template) => matched(template, path, given));
  const found = matches.find((each) => each !== null) ?? null;
  if (found === null) return null;
  if (!("read" in answer)) return { kind: "cancel", ...found, answer };
  return { kind: "cancel", ...found, answer: { read: filled(answer.read, found) } };
}

/** Tells whether a link leads to a call about a job, with any HTTP method. */
export function isJobLink(adapter: JobCallAdapter, path: string, query: string): boolean {
  const methods: readonly (CallMethod | undefined)[] = ["GET", adapter.cancel?.method];
  return methods.some((method) => {
    const call = method === undefined ? null : jobCallOf(adapter, method, path, query);
    return call !== null && "jobId" in call;
  });
}

/**
 * Returns the calls beside submissions that the relay answers, as texts for the documentation, e.g.
 * `GET /v1/predictions/{id}`.
 */
export function servedCalls(adapter: JobCallAdapter): readonly string[] {
  const { read, stream, cancel, content, uploads = [], lookups = [] } = adapter;
  return [
    ...read.map((path) => `GET ${path}`),
    ...(stream === undefined ? [] : [`GET ${stream.of}${stream.ending}`]),
    ...(content === undefined ? [] : [`GET ${content.path}`]),
    ...(cancel?.paths.map((path) => `${cancel.method} ${path}`) ?? []),
    ...uploads.map((path) => `POST ${path.split("?")[0]}`),
    ...lookups.map(({ path }) => `GET ${path}`),
  ];
}

function readCall(
  { read, query: passed = {}, stream }: JobCallAdapter,
  path: string,
  given: URLSearchParams,
): ReadCall | null {
  const kept = Object.entries(passed).flatMap(([name, values]) => {
    const value = given.get(name);
    return value !== null && values.includes(value) ? `${name}=${encodeURIComponent(value)}` : [];
  });
  if (stream !== undefined && path.endsWith(stream.ending)) {
    const found = matched(stream.of, path.slice(0, -stream.ending.length), given);
    if (found !== null)
      return { kind: "stream", ...found, target: targetOf(stream.of, found, kept) };
  }
  for (const template of read) {
    const found = matched(template, path, given);
    if (found !== null) return { kind: "read", ...found, target: targetOf(template, found, kept) };
  }
  return null;
}

/** Pattern of the number of an output, counted from 0, in a query. */
const INDEX = /^\d{1,2}$/;

function contentCall(
  { content }: JobCallAdapter,
  path: string,
  given: URLSearchParams,
): ContentCall | null {
  if (content === undefined) return null;
  const found = matched(content.path, path, given);
  if (found === null) return null;
  const target = targetOf(content.path, found, []);
  const index = content.index === undefined ? null : given.get(content.index);
  if (index === null) return { kind: "content", ...found, target, number: 1 };
  if (!INDEX.test(index)) return null;
  const query = `${content.index}=${index}`;
  return { kind: "content", ...found, target: `${target}?${query}`, number: Number(index) + 1 };
}

function matched(template: JobPath, path: string, given: URLSearchParams): NamedJob | null {
  const [pathForm, queryForm] = splitAtQuery(template);
  const named = namedIn(pathForm.split("/"), path.split("/"));
  if (named === null) return null;
  const ids = new Set(named.ids);
  for (const [name, value] of new URLSearchParams(queryForm)) {
    const stated = given.get(name);
    if (value === ID) ids.add(stated ?? "");
    else if (stated !== null && stated !== value) return null;
  }
  const [jobId = null, ...others] = ids;
  const endpoint = named.endpoint === "" ? null : named.endpoint;
  return isJobId(jobId) && others.length === 0 ? { jobId, endpoint } : null;
}

/**
 * Returns the id and the endpoint in a path, found by the placeholders of a template. The endpoint is empty when the
 * template has no placeholder for it. Null when the path does not match the template.
 */
function namedIn(form: readonly string[], segments: readonly string[]) {
  const at = form.indexOf(ENDPOINT);
  const extra = segments.length - form.length;
  if (extra < 0 || (extra > 0 && at < 0)) return null;
  const places =
    at < 0 ? form : form.toSpliced(at, 1, ...Array.from({ length: extra + 1 }, () => ENDPOINT));
  const pairs = places.map((place, nth) => [place, segments[nth] ?? ""] as const);
  if (!pairs.every(([place, segment]) => fits(place, segment))) return null;
  const ids = pairs.flatMap(([place, segment]) => idIn(place, segment) ?? []);
  const endpoint = pairs.flatMap(([place, segment]) => (place === ENDPOINT ? segment : []));
  return { ids, endpoint: endpoint.join("/") };
}

function fits(place: string, segment: string): boolean {
  if (place === ENDPOINT) return isModelSegment(segment);
  return place.includes(ID) ? ID_TEXT.test(idIn(place, segment) ?? "") : segment === place;
}

/**
 * Returns the part of a path segment that corresponds to the placeholder of the id in the template's segment. Null when
 * the segment does not match.
 */
function idIn(place: string, segment: string): string | null {
  const at = place.indexOf(ID);
  if (at < 0) return null;
  const [before, after] = [place.slice(0, at), place.slice(at + ID.length)];
  const isFilled = segment.length >= before.length + after.length;
  if (!isFilled || !segment.startsWith(before) || !segment.endsWith(after)) return null;
  return segment.slice(before.length, segment.length - after.length);
}

/** Returns, as two texts, the path and the query that a target contains; the query is empty when there is none. */
function splitAtQuery(target: string): readonly [path: string, query: string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

/** Returns a template in which the id and the endpoint that a call has named replace the placeholders. */
function filled(template: JobPath, { jobId, endpoint }: NamedJob): string {
  const id = encodeURIComponent(jobId);
  return template.replaceAll(PLACE, (place) => (place === ID ? id : (endpoint ?? "")));
}

/**
 * Returns path and query of a call, made from a template and what the caller has named.
 * @param kept parameters of the query that the caller has sent and that are passed on.
 */
function targetOf(template: JobPath, found: NamedJob, kept: readonly string[]): string {
  const [path, own] = splitAtQuery(filled(template, found));
  const query = [...(own === "" ? [] : [own]), ...kept].join("&");
  return query === "" ? path : `${path}?${query}`;
}

/**
 * Returns the body of an error in the form that most upstreams use. It is for upstreams whose own form of errors is not
 * known.
 */
export function usualErrorBody(_status: number, message: string): JsonObject {
  return { error: { message } };
}
