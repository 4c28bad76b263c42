import type { JsonObject } from "../core/json.ts";
import { isJobId, isModelSegment } from "./submit.ts";

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
  /**
   * JSON Pointers (RFC 6901) of the members of answers, to submissions and to reads, that are links to calls about the
   * job. They lead to the relay in the answers that it passes on. Absent when answers have none.
   */
  readonly links?: readonly string[];
  /** Returns the body of an error in the provider's own form, which its SDKs read. */
  readonly errorBody: (status: number, message: string) => JsonObject;
}

/**
 * Template of the path of a call about a job, below the base URL. `{id}` stands for one segment, the id of the job, and
 * `{id+}` for an id that contains slashes. `{model}` stands for one or more segments. Behind a question mark the id can be
 * a parameter of the query, e.g. `/v1/get_result?id={id}`.
 */
export type JobPath = `/${string}`;

/** The call that a request about a job makes, as an adapter has recognised it. */
export interface JobCall {
  readonly kind: "read";
  readonly jobId: string;
  /** Path and query with which the provider is called, relative to the base URL. */
  readonly target: string;
}

/** Pattern of a segment that can be, or be a part of, the id of a job. */
const ID_SEGMENT = /^[\w.~!$&'()*+,;=:@-]+$/;
/** Largest length of a path that is looked at, in characters. */
const MAX_PATH_CHARS = 1_024;

/**
 * Returns the call that a `GET` makes. Null for a path that reads no job.
 * @param path path below the base URL, as the caller has spelt it, with a slash at the beginning and no percent signs.
 * @param query query without the question mark; empty for none.
 */
export function readCallOf(
  { read, query: passed = {} }: JobCallAdapter,
  path: string,
  query: string,
): JobCall | null {
  const given = new URLSearchParams(query);
  for (const template of read) {
    const found = matched(template, path, given);
    if (found === null) continue;
    const kept = Object.entries(passed).flatMap(([name, values]) => {
      const value = given.get(name);
      return value !== null && values.includes(value) ? [[name, value]] : [];
    });
    const named = found.parameter === null ? [] : [[found.parameter, found.jobId]];
    const sent = new URLSearchParams([...named, ...kept]).toString();
    return { kind: "read", jobId: found.jobId, target: sent === "" ? path : `${path}?${sent}` };
  }
  return null;
}

/** The id of a job in a path, and the name of the query parameter that had it; null for one in the path itself. */
interface Found {
  readonly jobId: string;
  readonly parameter: string | null;
}

function matched(template: JobPath, path: string, query: URLSearchParams): Found | null {
  const [form = "", queryForm] = template.split("?");
  const parameter = queryForm?.replace("={id}", "") ?? null;
  const inPath = path.length > MAX_PATH_CHARS ? null : idIn(form.split("/"), path.split("/"));
  const jobId = parameter === null || inPath === null ? inPath : query.get(parameter);
  return isJobId(jobId) ? { jobId, parameter } : null;
}

/**
 * Returns the id of the job that segments of a path have at its place in a template; empty for a template without it. Null
 * when they do not fit.
 */
function idIn(form: readonly string[], segments: readonly string[]): string | null {
  const at = form.findIndex((part) => part === "{model}" || part === "{id+}");
  const extra = segments.length - form.length;
  if (extra < 0 || (extra > 0 && at < 0)) return null;
  const places = at < 0 ? form : form.toSpliced(at, 1, ...Array(extra + 1).fill(form[at]));
  const fits = places.every((place, nth) => isAt(place, segments[nth] ?? ""));
  if (!fits) return null;
  return segments.filter((_, nth) => places[nth]?.startsWith("{id") === true).join("/");
}

function isAt(place: string, segment: string): boolean {
  if (place === "{model}") return isModelSegment(segment);
  return place === "{id}" || place === "{id+}" ? ID_SEGMENT.test(segment) : segment === place;
}
