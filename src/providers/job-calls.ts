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

/** A model in a template: as many segments as there are, none of which can lead elsewhere. */
const MODEL = "[A-Za-z0-9][\\w.-]*(?:/[A-Za-z0-9][\\w.-]*)*";
/** A segment that is, or is a part of, the id of a job. */
const ID = "[\\w.~!$&'()*+,;=:@-]+";
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
  const [pathForm = "", queryForm] = template.split("?");
  if (path.length > MAX_PATH_CHARS) return null;
  const [isMatch, inPath] = pathPattern(pathForm).exec(path) ?? [];
  if (isMatch === undefined) return null;
  const parameter = queryForm?.replace("={id}", "") ?? null;
  const jobId = parameter === null ? (inPath ?? null) : query.get(parameter);
  return isJobId(jobId) ? { jobId, parameter } : null;
}

/** Returns the pattern of the paths of a template, which finds the id of the job. */
function pathPattern(form: string): RegExp {
  const parts = form.split(/(\{(?:id\+?|model)\})/).map((part) => {
    if (part === "{id}") return `(${ID})`;
    if (part === "{id+}") return `(${ID}(?:/${ID})*)`;
    if (part === "{model}") return `(?:${MODEL})`;
    return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
