import * as fc from "fast-check";
import { parseJson } from "../../src/core/json.ts";
import type { SubmitAdapter, SubmitReading, SubmitTarget } from "../../src/providers/submit.ts";
import { ADAPTERS } from "../providers/adapters.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, submitExamplesIn } from "../providers/examples.ts";
import type { SubmitExamples } from "../../src/providers/shared/examples/submit-examples.ts";
import { changed, fuzz, weighted } from "./fuzz.ts";
import { hostileValue } from "./hostile.ts";
import { jsonBytes, jsonChange } from "./mutations.ts";
import { requireSound } from "./news.ts";
import { changedText } from "./text.ts";

const decoder = new TextDecoder();
const MAX_NAME_CHARS = 256;
const MAX_ID_CHARS = 512;

/** Generates paths of calls that start jobs, paths that lead out of these and others, most of them changed. */
function pathsOf({ calls, otherPaths }: SubmitExamples): fc.Arbitrary<string> {
  const leadingOut = calls.map(({ path }) => path.replace(/\/(?=[^/]+$)/, "/../"));
  const known = [...calls.map(({ path }) => path), ...leadingOut, ...otherPaths];
  return weighted([4, changedText(fc.constantFrom(...known))], [1, fc.constantFrom(...known)]);
}

/** Generates answers to calls, most of them changed; the body is undefined when it is not JSON. */
function answersOf(submits: SubmitExamples): fc.Arbitrary<{ path: string; body: unknown }> {
  const cases = submitExamplesIn(submits).map(({ path, answer }) => {
    const body = changed(fc.constant(answer.body), jsonChange, 3);
    const damaged = jsonBytes(body).map((bytes) => parseJson(decoder.decode(bytes)));
    const any = weighted([8, body], [1, damaged], [1, hostileValue]);
    return fc.record({ path: fc.constant(path), body: any });
  });
  return fc.oneof(...cases);
}

/** Tells whether a path starts a job. Requires that its URL leads there, and that what it states can be used. */
function isSubmission(path: string, { target }: SubmitAdapter, provider: string): boolean {
  const found = target(path);
  if (found === null) return false;
  requirePlain(path);
  requireStorable(found);
  requirePollable(found, provider);
  return true;
}

/** Requires that the URL of a call leads to the path as it is written, below the base URL. */
function requirePlain(path: string): void {
  const url = `${GATEWAY}/prefix${path}`;
  if (URL.parse(url)?.href !== url) throw new Error("the URL differs from the path");
  if (/[^\w./:-]|\/\/|\/$|\/\.|\/requests(?:\/|$)/i.test(path)) {
    throw new Error("the path is not plain");
  }
}

function requireStorable({ model, parameters }: SubmitTarget): void {
  const name = "name" in model ? model.name : (model.otherwise ?? "model");
  if (name === "" || name.length > MAX_NAME_CHARS) throw new Error("the name cannot be stored");
  const pointers = [...Object.values(parameters), ...("pointer" in model ? [model.pointer] : [])];
  for (const pointer of pointers) if (!/^(\/\w+)+$/.test(pointer)) throw new Error(pointer);
}

/** Requires that the endpoint is one with which the job can be attached and polled. */
function requirePollable({ endpoint }: SubmitTarget, provider: string): void {
  const rule = ADAPTERS.get(provider)?.polls.endpoint ?? null;
  const isOmitted = endpoint === null;
  const fits = isOmitted ? rule?.isRequired !== true : rule?.pattern.test(endpoint) === true;
  if (!fits) throw new Error(`polls cannot use the endpoint ${endpoint}`);
}

/** Requires that a task can continue with the reading of an answer. */
function isUnderstood(reading: SubmitReading, provider: string): boolean {
  if (reading.kind === "unclear") return false;
  if (reading.kind === "named") return true;
  if (reading.job !== null) {
    const { id, endpoint } = reading.job;
    if (id === "" || id.length > MAX_ID_CHARS) throw new Error("the id cannot be stored");
    const path = ADAPTERS.get(provider)?.polls.path({ id, endpoint });
    if (path === undefined) throw new Error("the job cannot be polled");
  }
  if (reading.kind === "job") return true;
  const news = requireSound(reading.observation);
  if (news === null || news.status === "queued" || news.status === "processing") {
    throw new Error("the result is none");
  }
  return true;
}

function withTarget(adapter: SubmitAdapter, target: SubmitTarget, paths: RegExp): SubmitAdapter {
  return { ...adapter, target: (path) => (paths.test(path) ? target : adapter.target(path)) };
}

/** Returns an adapter whose readings of answers are changed. */
function withReading(
  adapter: SubmitAdapter,
  change: (reading: SubmitReading) => SubmitReading,
): SubmitAdapter {
  return { ...adapter, readAnswer: (...answer) => change(adapter.readAnswer(...answer)) };
}

/** Returns the id of the job that a reading starts; empty for one that the call names. Null for any other reading. */
function startedBy(reading: SubmitReading): string | null {
  if (reading.kind === "named") return "";
  return reading.kind === "job" ? reading.job.id : null;
}

/** Returns an adapter that reads this id of every job that an answer starts. */
function withJobId(adapter: SubmitAdapter, id: string): SubmitAdapter {
  return withReading(adapter, (reading) =>
    startedBy(reading) === null ? reading : { kind: "job", job: { id, endpoint: null } },
  );
}

for (const { provider, submits } of EXAMPLES) {
  const adapter = ADAPTERS.get(provider)?.submits;
  const target = adapter?.target(submits?.calls[0]?.path ?? "") ?? null;
  if (submits === undefined || adapter === undefined || target === null) continue;
  fuzz(
    `any POST that is to go to ${provider} is either sent as a submission to exactly its path, or refused because of its path, without an exception`,
    {
      inputs: pathsOf(submits),
      subject: adapter,
      defects: {
        "takes a path with a slash at its end": withTarget(adapter, target, /\/$/),
        "takes a path that leads out of it": withTarget(adapter, target, /\.\./),
        "takes a path with an escape": withTarget(adapter, target, /%/),
        "throws for a path that it does not know": {
          ...adapter,
          target: (path) => {
            const found = adapter.target(path);
            if (found === null) throw new TypeError("planted");
            return found;
          },
        },
        "names a model that is too long": withTarget(
          adapter,
          { ...target, model: { name: "a".repeat(MAX_NAME_CHARS + 1) } },
          /^\/[\w-]+(\/[\w-]+)+$/,
        ),
      },
      check: (path, subject) => isSubmission(path, subject, provider),
    },
  );

  fuzz(
    `reading any answer of ${provider} to a submission never throws, and returns a job that can be polled, a result, or neither of the two`,
    {
      inputs: answersOf(submits),
      subject: adapter,
      defects: {
        "throws for an answer that it does not understand": withReading(adapter, (reading) => {
          if (reading.kind === "unclear") throw new TypeError("planted");
          return reading;
        }),
        "reads an empty id": withJobId(adapter, ""),
        "reads half of a surrogate pair": withJobId(adapter, "\ud800"),
        "reads a running job as a result": withReading(adapter, (reading) => {
          const jobId = startedBy(reading);
          if (jobId === null) return reading;
          const running = { jobId: jobId || null, state: "running", urls: [], metadata: {} };
          const observation = { ...running, completedAt: null, error: null };
          return { kind: "result", job: null, observation };
        }),
      },
      check: ({ path, body }, subject) => {
        const isUnknown = subject.refusal(504, body) === null;
        return isUnderstood(subject.readAnswer(body, path, GATEWAY), provider) && isUnknown;
      },
    },
  );
}
