import type { JsonObject } from "../core/json.ts";
import { isJobId } from "./submit.ts";

/**
 * Description of the calls with which a provider's clients, e.g. its SDKs, read a job that they have submitted. The
 * headers that authenticate such a call are those of polls.
 */
export interface JobCallAdapter {
  /** Paths at which the provider's documentation reads a job by `GET`. */
  readonly read: readonly JobPath[];
  /**
   * Parameters in the query that are passed on, by name, each with the values that are passed on. All others stay at
   * the relay, so that calls of one meaning have one URL. Absent when there are none.
   */
  readonly query?: Readonly<Record<string, readonly string[]>>;
  /** Description of the calls whose answer is a stream of the states of a job. Absent when there are none. */
  readonly stream?: JobStream;
  /**
   * JSON Pointers (RFC 6901) of the members of answers, to submissions and to reads, that are links to calls about the
   * job. They lead to the relay in the answers that it passes on. Absent when answers have none.
   */
  readonly links?: readonly string[];
  /** Returns the body of an error in the provider's own form, which its SDKs read. */
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

/** The call that a request about a job makes, as an adapter has recognised it. */
export interface JobCall {
  /** `stream` for a call whose answer is the stream that the adapter describes. */
  readonly kind: "read" | "stream";
  readonly jobId: string;
  /** Beginning of the endpoint of the job that the path names. Null for a path that names none. */
  readonly endpoint: string | null;
  /**
   * Path and query with which the provider is called, relative to the base URL. The id is spelt as in polls, so that a
   * read and a poll of one meaning have one URL.
   */
  readonly target: string;
}

/** Parts of a template that stand for something else. */
const PLACEHOLDER = /\{(?:id|endpoint)\}/g;
/** An endpoint in a path: segments, none of which can lead elsewhere. */
const ENDPOINT = "[A-Za-z0-9][\\w.-]*(?:/[A-Za-z0-9][\\w.-]*)*";
/** A segment that is, or is a part of, the id of a job. */
const ID = "[\\w.~!$&'()*+,;=:@-]+";
/** Largest length of a path that is looked at, in characters. */
const MAX_PATH_CHARS = 1_024;

/**
 * Returns the call that a `GET` makes. Null for a path that reads no job.
 * @param path path below the base URL, as the caller has spelt it, with a slash at the beginning and no percent signs.
 * @param query query without the question mark; empty for none.
 */
export function readCallOf(adapter: JobCallAdapter, path: string, query: string): JobCall | null {
  if (path.length > MAX_PATH_CHARS) return null;
  const { read, query: passed = {}, stream } = adapter;
  const given = new URLSearchParams(query);
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

/** What a call names at the places of a template. */
type Found = Pick<JobCall, "jobId" | "endpoint">;

function matched(template: JobPath, path: string, given: URLSearchParams): Found | null {
  const [pathForm, queryForm] = splitAtQuery(template);
  const match = pathPattern(pathForm).exec(path);
  if (match === null) return null;
  let jobId = match.groups?.["id"] ?? null;
  for (const [name, value] of new URLSearchParams(queryForm)) {
    if (value === "{id}") jobId = given.get(name);
    else if ((given.get(name) ?? value) !== value) return null;
  }
  return isJobId(jobId) ? { jobId, endpoint: match.groups?.["endpoint"] ?? null } : null;
}

/** Returns the path and the query of a target; the query is empty when there is none. */
function splitAtQuery(target: string): readonly [path: string, query: string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

/** Returns the pattern of the paths of a template, with a group for each place of it. */
function pathPattern(form: string): RegExp {
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const known = new Set<string>();
  const parts = form.split(/(\{(?:id|endpoint)\})/).map((part) => {
    if (part !== "{id}" && part !== "{endpoint}") return literal(part);
    const name = part.slice(1, -1);
    if (known.has(name)) return `\\k<${name}>`;
    known.add(name);
    return `(?<${name}>${name === "id" ? ID : ENDPOINT})`;
  });
  return new RegExp(`^${parts.join("")}$`);
}

/**
 * Returns path and query of a call at a template.
 * @param kept parameters of the query that the caller has given.
 */
function targetOf(template: JobPath, { jobId, endpoint }: Found, kept: readonly string[]): string {
  const id = encodeURIComponent(jobId);
  const filled = template.replace(PLACEHOLDER, (place) =>
    place === "{id}" ? id : (endpoint ?? ""),
  );
  const [path, own] = splitAtQuery(filled);
  const query = [...(own === "" ? [] : [own]), ...kept].join("&");
  return query === "" ? path : `${path}?${query}`;
}
