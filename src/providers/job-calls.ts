import type { JsonObject } from "../core/json.ts";
import { isJobId, isModelSegment } from "./submit.ts";

/**
 * Description of the calls about jobs with which a provider's clients, e.g. its SDKs, do not submit: they read a job that
 * they have submitted, cancel it, take its output, and upload files before it. The headers that authenticate such a call
 * are those of polls.
 */
export interface JobCallAdapter {
  /** Paths at which, according to the provider's documentation, a `GET` reads a job. */
  readonly read: readonly JobPath[];
  /**
   * Parameters in the query of a call that are passed on to the provider, by name, each with the values that are passed
   * on. All other parameters are left out, so that calls of one meaning have one URL. Absent when no parameters are
   * passed on.
   */
  readonly query?: Readonly<Record<string, readonly string[]>>;
  /** Description of the calls whose answer is a stream of the states of a job. Absent when there are none. */
  readonly stream?: JobStream;
  /**
   * JSON Pointers (RFC 6901) of the members of a provider's answers, to submissions and to reads of a job, that are
   * links to calls about the job. The relay replaces these links by links to itself. Absent when the answers have no
   * such links.
   */
  readonly links?: readonly string[];
  /** The call that cancels a job. Absent when the provider documents none. */
  readonly cancel?: JobCancel;
  /** The `GET` that the provider answers with an output of a job. Absent when there is none. */
  readonly content?: JobContent;
  /**
   * Exact paths at which a `POST` uploads a file for later jobs, with the query that is sent in place of the caller's. Absent
   * when the provider takes none.
   */
  readonly uploads?: readonly `/${string}`[];
  /**
   * Origin that takes the uploads, for connections with a base URL of the provider's. Absent when it is that of the base URL.
   */
  readonly uploadOrigin?: `https://${string}`;
  /**
   * Returns the body of an error that the relay reports, in the provider's own form, which the provider's SDKs can
   * read.
   */
  readonly errorBody: (status: number, message: string) => JsonObject;
}

/**
 * Description of the calls whose answer is a stream of server-sent events, each of which has the answer of a read in its
 * `data`.
 */
export interface JobStream {
  /** Path of the read, one of `read`. */
  readonly of: JobPath;
  /** What follows the path of the read in the path of such a call. */
  readonly ending: `/${string}`;
  /** Tells whether the stream ends after an answer, because the job has ended. */
  readonly isLast: (body: unknown) => boolean;
}

/**
 * Template of the path of a call about a job, below the base URL. `{id}` stands for one segment, or a part of one: the id
 * of the job. `{endpoint}` stands for one or more segments with which the endpoint of the job begins. Behind a question
 * mark follow parameters of the query: one may have `{id}` as its value, e.g. `/v1/get_result?id={id}`; the others are
 * always sent as they stand there.
 */
export type JobPath = `/${string}`;

/** A provider's call that cancels a job, and how it answers. */
export interface JobCancel {
  readonly method: ChangeMethod;
  readonly paths: readonly JobPath[];
  /**
   * The answers to the call. With `read`, a path of `JobCallAdapter.read`, the provider answers with the job as it then
   * is, whatever has become of the order.
   */
  readonly answer: CancelAnswers | { readonly read: JobPath };
}

/** The provider's answers to a call that cancels a job. */
export interface CancelAnswers {
  /** Returns the answer when the job is canceled, or the provider has taken the order. */
  readonly done: (jobId: string) => CallAnswer;
  /** The answer about a job that had ended before. Absent for an error with the status `refused`. */
  readonly ended?: CallAnswer;
  /** HTTP status of the error about a job that the provider does not cancel, e.g. because it runs already. */
  readonly refused: number;
}

export interface CallAnswer {
  readonly status: number;
  /** JSON body; null for none. */
  readonly body: JsonObject | null;
}

/** A provider's call that is answered with an output of a job. */
export interface JobContent {
  readonly path: JobPath;
  /** Parameter of the query with the number of the output, counted from 0. Absent where there is only the first. */
  readonly index?: string;
}

export type ChangeMethod = "POST" | "PUT" | "DELETE";
export type CallMethod = "GET" | ChangeMethod;

/** The call that a request makes which is no submission, as an adapter has recognised it. */
export type JobCall = ReadCall | CancelCall | ContentCall | UploadCall;

/** The job that a call names. */
export interface NamedJob {
  readonly jobId: string;
  /** Beginning of the endpoint of the job that the path names. Null for a path that names none. */
  readonly endpoint: string | null;
}

export interface ReadCall extends NamedJob {
  /** `stream` for a call whose answer is the stream that the adapter describes. */
  readonly kind: "read" | "stream";
  /**
   * Path and query with which the provider is called, relative to the base URL. The id is spelt as in polls, so that a
   * read and a poll of one meaning have one URL.
   */
  readonly target: string;
}

export interface CancelCall extends NamedJob {
  readonly kind: "cancel";
  /** The answers; with `read`, the path of the call whose answer is that to the order, relative to the base URL. */
  readonly answer: CancelAnswers | { readonly read: string };
}

export interface ContentCall extends NamedJob {
  readonly kind: "content";
  /** Path and query of the call, relative to the base URL. */
  readonly target: string;
  /** Number of the output among those of the job, counted from 1. */
  readonly number: number;
}

export interface UploadCall {
  readonly kind: "upload";
  /** Path and query with which the provider is called, relative to the base URL or `uploadOrigin`. */
  readonly target: string;
}

/** Pattern of a place in a template. */
const PLACE = /\{(?:id|endpoint)\}/g;
/** Place of the endpoint in a template, which fills a segment or several. */
const ENDPOINT = "{endpoint}";
/** Place of the id in a template, in a segment of the path or as a value of the query. */
const ID = "{id}";
/** Pattern of a text in a path that can be the id of a job. */
const ID_TEXT = /^[\w.~!$&'()*+,;=:@-]+$/;
/** Largest length of a path that is looked at, in characters. */
const MAX_PATH_CHARS = 1_024;

/**
 * Returns the call that a request makes. Null for a request that reads or cancels no job, takes no output and uploads
 * nothing, e.g. for a submission.
 * @param path path below the base URL, as the caller has spelt it, with a slash at the beginning and no percent signs.
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
  if (method === "GET") return contentCall(adapter, path, given) ?? readCall(adapter, path, given);
  const upload = adapter.uploads?.find((each) => each.split("?")[0] === path);
  if (method === "POST" && upload !== undefined) return { kind: "upload", target: upload };
  return cancelCall(adapter, method, path, given);
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

/** Tells whether a link leads to a call about a job, whatever its method. */
export function isJobLink(adapter: JobCallAdapter, path: string, query: string): boolean {
  const methods: readonly (CallMethod | undefined)[] = ["GET", adapter.cancel?.method];
  return methods.some((method) => {
    const call = method === undefined ? null : jobCallOf(adapter, method, path, query);
    return call !== null && call.kind !== "upload";
  });
}

/** Returns the calls about jobs that the relay answers, e.g. `GET /v1/predictions/{id}`. */
export function servedCalls(adapter: JobCallAdapter): readonly string[] {
  const { read, stream, cancel, content, uploads = [] } = adapter;
  return [
    ...read.map((path) => `GET ${path}`),
    ...(stream === undefined ? [] : [`GET ${stream.of}${stream.ending}`]),
    ...(content === undefined ? [] : [`GET ${content.path}`]),
    ...(cancel?.paths.map((path) => `${cancel.method} ${path}`) ?? []),
    ...uploads.map((path) => `POST ${path.split("?")[0]}`),
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

/** Pattern of the number of an output in a query, counted from 0. */
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
 * Returns the ids and the endpoint that the segments of a path have at their places in a template; an empty endpoint where
 * the template has no place for it. Null when the segments do not fit.
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

/** Returns the part of a segment that stands at the place of the id. Null when there is none. */
function idIn(place: string, segment: string): string | null {
  const at = place.indexOf(ID);
  if (at < 0) return null;
  const [before, after] = [place.slice(0, at), place.slice(at + ID.length)];
  const isFilled = segment.length >= before.length + after.length;
  if (!isFilled || !segment.startsWith(before) || !segment.endsWith(after)) return null;
  return segment.slice(before.length, segment.length - after.length);
}

/** Returns the path and the query of a target; the query is empty when there is none. */
function splitAtQuery(target: string): readonly [path: string, query: string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

/** Returns a template with what a call has named in its places. */
function filled(template: JobPath, { jobId, endpoint }: NamedJob): string {
  const id = encodeURIComponent(jobId);
  return template.replaceAll(PLACE, (place) => (place === ID ? id : (endpoint ?? "")));
}

/**
 * Returns path and query of a call at a template.
 * @param kept parameters of the query that the caller has given.
 */
function targetOf(template: JobPath, found: NamedJob, kept: readonly string[]): string {
  const [path, own] = splitAtQuery(filled(template, found));
  const query = [...(own === "" ? [] : [own]), ...kept].join("&");
  return query === "" ? path : `${path}?${query}`;
}

/** Returns the body of an error in the form that most upstreams use, for one whose own form is not known. */
export function usualErrorBody(_status: number, message: string): JsonObject {
  return { error: { message } };
}
