import type { CorpusBody } from "../../../scripts/corpus/body-file.ts";
import { parseJson } from "../../../src/core/json.ts";

/** Names of members that have a state or a code, which decide the reading. */
const DECIDING = /stat(e|us)|code|type|flag/i;

/**
 * Returns a text that two bodies share when they have the same members with the same types, the same states and codes, and
 * the same HTTP status and transport.
 */
export function shapeOf(file: CorpusBody): string {
  const { transport, endpoint = "", http_status: status, first, headers } = file;
  const answers = [first, file].map((answer) =>
    answer === undefined ? [] : pathsIn(contentOf(answer), "", file.job),
  );
  return JSON.stringify([transport, endpoint, status, Object.keys(headers).toSorted(), ...answers]);
}

/** Returns a text that two files share when their bodies are read alike: with the same kind of end, and of its members. */
export function readingShapeOf({ expect: expected }: CorpusBody): string {
  const {
    status,
    urls = [],
    metadata = {},
    usage = {},
    error,
    inline,
    text_output: text,
  } = expected;
  const { category, retryable, code } = error ?? {};
  const names = [metadata, usage].map((members) => Object.keys(members).toSorted());
  return JSON.stringify([status, urls.length, names, category, retryable, code, inline, text]);
}

function contentOf({ body, text }: { body?: unknown; text?: string | undefined }): unknown {
  return text === undefined ? body : (parseJson(text) ?? text);
}

/** Lists the paths of a body with the types of the values there. Items of a list count as one, and so do ids of the job. */
function pathsIn(value: unknown, path: string, job: string): readonly string[] {
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => pathsIn(item, `${path}/*`, job));
    return [`${path} list`, ...new Set(items)].toSorted();
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).flatMap(([name, member]) =>
      pathsIn(member, `${path}/${name === job ? "{job}" : name}`, job),
    );
    return members.length === 0 ? [`${path} object`] : members.toSorted();
  }
  const isDeciding = DECIDING.test(path.split("/").at(-1) ?? "");
  return [`${path} ${value === null ? "null" : typeof value} ${isDeciding ? String(value) : ""}`];
}
