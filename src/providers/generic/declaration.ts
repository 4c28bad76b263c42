import * as z from "zod/mini";
import type { JsonValue } from "../../core/json.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { at } from "../json-fields.ts";
import { spelling } from "../phase.ts";
import { namesJob, pathFault } from "./call-template.ts";
import {
  type DeclarationFault,
  either,
  faultless,
  faultsOf,
  members,
  named,
  Pointer,
  Pointers,
  textThat,
} from "./declaration-fields.ts";
import { recipeFault } from "./hook-recipe.ts";

/** Name of the provider of those connections whose upstream the operator describes by a declaration. */
export const DECLARED_PROVIDER = "generic";

/** Value of `submit.answer` in the declaration of an upstream whose answers to calls are the results. */
const RESULT = "result";

/** Meanings that a declaration can give to the words with which an upstream names the state of a job. */
export const WORD_MEANINGS = [
  "queued",
  "processing",
  "completed",
  "failed",
  "moderated",
  "canceled",
] as const;
export type WordMeaning = (typeof WORD_MEANINGS)[number];

/**
 * Meanings that the member `ends` of a declaration may give to a value that ends a job. `ends` is for upstreams whose
 * answers have such values in addition to the state or instead of it.
 */
const END_MEANINGS = ["failed", "moderated", "canceled"] as const satisfies WordMeaning[];
/**
 * Key in the member `ends` of a declaration that stands for every value: if the answer names the job, any value at the
 * given pointer ends the job.
 */
export const ANY_VALUE = "*";

/**
 * Word that a declaration may have instead of the pointer to the state. It means that the HTTP status of an answer is
 * the state of the job.
 */
export const HTTP_STATUS = "http_status";
/** HTTP statuses that have the same meaning for every upstream, and so cannot be the state of a job. */
const NO_STATES = ["401", "403", "429"];
const MAX_POLLS_PER_MINUTE = 100_000;
const MAX_HOURS = 24 * 365;
/** Members of output metadata for which a declaration can name a pointer into the answer. */
const METADATA = [
  "seed",
  "ratio",
  "duration",
  "resolution",
  "generate_audio",
  "framespersecond",
] as const;
/** Pattern of the names of headers that a declaration may set. Headers that the relay itself sets are excluded. */
const HEADER =
  /^(?!(?:host|connection|content-length|content-type|transfer-encoding|cookie|user-agent|accept|te|trailer|upgrade|expect)$)[a-z][a-z0-9-]{0,63}$/i;
const AUTH = /^([a-z][a-z0-9-]{0,63}): ?(?:([\x21-\x7e]+) )?\{key\}$/i;
const FIELD = /^(?:\?[\w.-]+|\w[\w-]*(?:\.\w[\w-]*)*)$/;
const PATH_PATTERN = /^(?:\/(?:\*|[A-Za-z0-9_][\w.~-]*))+$/;
/** Pattern of the names that a declaration may give to amounts of usage. */
const AMOUNT = /^[a-z][\w-]*(?:\.[a-z][\w-]*)*$/i;

const text = (message: string) => z.string(message).check(z.trim(), z.minLength(1, message));
const flag = z.literal(true, "must be true or be left out");
const hours = z
  .number("must be a number of hours")
  .check(z.gt(0, "must be above 0"), z.lte(MAX_HOURS, `must be at most ${MAX_HOURS}`));
const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(", ")}`);
const meaning = oneOf(WORD_MEANINGS);
const header = textThat((name) => HEADER.test(name), "must be the name of a header");
const Json = z.custom<JsonValue>((value) => value !== undefined, "must be JSON");

/** Schema of the path of a call about a job, which contains `{id}`. */
const CallPath = z
  .string("must be a path like /status/{id}")
  .check(faultless((path) => faultOf([], pathFault(path, ["{id}"]))));

const PathPattern = textThat(
  (path) => path.length <= 256 && PATH_PATTERN.test(path),
  "must be a path like /run, in which a whole segment may be *",
);

// A schema with members is lazy: it is made when a connection first declares its upstream, so that the start of all other
// relays is shorter.

const valuesAtPointers = (message: string) =>
  named(
    /^\//,
    z.array(
      z.union([z.string(), z.number(), z.boolean()], "must be a text, a number, true or false"),
      "must be a list of values",
    ),
    message,
  );

const RefusalValues = z.lazy(() =>
  valuesAtPointers(
    'must be an object like {"/code": [433]}: the values at a pointer that prove that no job was started',
  ),
);

const PathPatterns = z.lazy(() =>
  either(
    Array.isArray,
    z
      .array(PathPattern, "must be a path or a list of paths")
      .check(z.minLength(1, "must have a path")),
    PathPattern,
  ),
);

const CallValues = z.lazy(() =>
  valuesAtPointers(
    'must be an object like {"/sync_mode": [true]}: the values at a pointer into the call',
  ),
);

/** Returns the members that describe every kind of submission. */
const submitMembers = () => ({
  path: PathPatterns,
  model: z.nullish(Pointer),
  parameters: z.nullish(
    named(
      /^[a-z_]{1,32}$/,
      Pointer,
      'must be an object like {"duration": "/input/duration"}, with pointers into the call',
    ),
  ),
  busy: z.nullish(RefusalValues),
  rate: z.nullish(RefusalValues),
  funds: z.nullish(RefusalValues),
  key: z.nullish(RefusalValues),
  refused: z.nullish(RefusalValues),
});

const JobSubmit = z.lazy(() =>
  members(
    {
      ...submitMembers(),
      id: either(
        (value) => typeof value !== "object" || Array.isArray(value),
        Pointers,
        members(
          { request: Pointer },
          'must be a pointer, or {"request": "/…"} for one into the call',
        ),
      ),
      list: z.nullish(flag),
      answer: z.nullish(oneOf(["job", "job-or-result", RESULT])),
      inline: z.nullish(CallValues),
    },
    'must be an object like {"path": "/run", "id": "/id"}',
  ),
);

/** Schema of the submission at an upstream whose answers are the results. */
const ResultSubmit = z.lazy(() =>
  members(
    {
      ...submitMembers(),
      answer: z.literal(RESULT),
      multipart: z.nullish(flag),
      streams: z.nullish(PathPatterns),
      unreadable: z.nullish(CallValues),
    },
    'must be an object like {"path": "/run", "answer": "result"}',
  ),
);

const Output = z.lazy(() =>
  either(
    (value) => typeof value !== "object",
    Pointer,
    members(
      {
        at: Pointer,
        url: z
          .string("must be a path like /view?filename={filename}")
          .check(faultless((path) => faultOf([], pathFault(path, null)))),
        path_url: z.nullish(
          z.string("must be a path like /view?filename={name}&subfolder={folder}").check(
            faultless((path) =>
              faultOf(
                [],
                pathFault(
                  path,
                  ["name", "folder"].map((each) => `{${each}}`),
                ),
              ),
            ),
          ),
        ),
      },
      'must be a pointer, or an object like {"at": "/images/*", "url": "/view?filename={filename}"}',
    ),
  ),
);

/**
 * Schema of the member `ends` of a declaration. For each pointer, it lists the values that show, at that pointer, that
 * a job has ended.
 */
const Ends = z.lazy(() =>
  named(/^\//, named(/^[^]{1,64}$/, oneOf(END_MEANINGS), ENDS_MESSAGE), ENDS_MESSAGE),
);

const ErrorPlace = z.lazy(() =>
  either(
    (value) => typeof value !== "object" || Array.isArray(value),
    Pointers,
    members(
      {
        code: z.nullish(Pointers),
        message: z.nullish(Pointers),
        retryable: z.nullish(Pointers),
      },
      'must be a pointer, or an object like {"code": "/error/code", "message": "/error/message"}',
    ),
  ),
);

const Progress = z.lazy(() =>
  either(
    (value) => typeof value !== "object" || Array.isArray(value),
    Pointers,
    members(
      { at: Pointers, full: z.number("must be a number").check(z.gt(0, "must be above 0")) },
      'must be a pointer to a percentage, or an object like {"at": "/progress", "full": 1}',
    ),
  ),
);

/**
 * Schema of the entry that says where an answer states a time. A time without a time zone counts only if the
 * declaration states the zone.
 */
const TimePlace = z.lazy(() =>
  either(
    (value) => typeof value !== "object" || Array.isArray(value),
    Pointers,
    members(
      {
        at: Pointers,
        zone: textThat(
          (zone) => /^(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/.test(zone),
          "must be Z or an offset like +08:00",
        ),
      },
      'must be a pointer to a time, or an object like {"at": "/finished", "zone": "+08:00"}',
    ),
  ),
);

const Metadata = z.lazy(() =>
  members(
    Object.fromEntries(METADATA.map((name) => [name, z.nullish(Pointers)])),
    'must be an object like {"seed": "/seed"}',
  ),
);

/** Returns the members that say where a report on a job has its outputs, its error, its usage and so on. */
const reportMembers = () => ({
  ends: z.nullish(Ends),
  outputs: z.nullish(z.array(Output, "must be a list of pointers")),
  outputs_in: z.nullish(Pointers),
  error: z.nullish(ErrorPlace),
  usage: z.nullish(
    named(
      AMOUNT,
      Pointers,
      'must be an object like {"execution_ms": "/executionTime"}, with names of letters, digits, _, - and dots',
    ),
  ),
  metadata: z.nullish(Metadata),
  completed_at: z.nullish(TimePlace),
});

const Poll = z.lazy(() =>
  members(
    {
      path: CallPath,
      method: z.nullish(oneOf(["GET", "POST"])),
      body: z.nullish(Json),
      id: z.nullish(Pointers),
      state: either((value) => value === HTTP_STATUS, z.literal(HTTP_STATUS), Pointers),
      otherwise: z.nullish(oneOf(["queued", "processing"])),
      progress: z.nullish(Progress),
      ...reportMembers(),
    },
    'must be an object like {"path": "/status/{id}", "state": "/status", "outputs": ["/output/url"]}',
  ).check(
    faultless(({ path, method, body }) => [
      ...faultOf(["path"], namesJob(path) || namesJob(body ?? null) ? null : NO_ID),
      ...faultOf(["method"], body != null && method !== "POST" ? "must be POST with a body" : null),
    ]),
  ),
);

/** Schema of the places in answers that are the results. They are those of an answer to a poll. */
const ResultPlaces = z.lazy(() =>
  members(
    { state: z.nullish(Pointers), ...reportMembers() },
    'must be an object like {"usage": {"total_tokens": "/usage/total_tokens"}}',
  ),
);

const Signature = z.lazy(() =>
  members(
    {
      header,
      prefix: z.nullish(text("must be a text before the signature, like v1=")),
      timestamp_header: z.nullish(header),
      timestamp_prefix: z.nullish(text("must be a text before the time in the header, like t=")),
      recipe: z.string("must be a text like {timestamp}.{body}"),
      encoding: z.nullish(oneOf(["hex", "base64"])),
      secret: z.nullish(oneOf(["text", "base64", "hex"])),
      tolerance_s: z.nullish(
        z
          .int("must be a whole number of seconds")
          .check(z.gte(1, "must be at least 1"), z.lte(3_600, "must be at most 3600")),
      ),
    },
    'must be an object like {"header": "X-Signature", "recipe": "{body}"}',
  ).check(
    faultless((signature) => {
      const [member = "recipe", message = null] = recipeFault(signature) ?? [];
      return faultOf([member], message);
    }),
  ),
);

const fieldOfCall = textThat(
  (field) => FIELD.test(field),
  "must be a field of the submit call: name, a.b for one in an object, or ?name for one in the query",
);

const Hook = z.lazy(() =>
  members(
    {
      field: fieldOfCall,
      id_field: z.nullish(fieldOfCall),
      secret_field: z.nullish(fieldOfCall),
      task_id: z.nullish(Pointers),
      report: z.nullish(Pointer),
      id: z.nullish(Pointers),
      state: z.nullish(Pointers),
      outputs: z.nullish(z.array(Output, "must be a list of pointers")),
      error: z.nullish(ErrorPlace),
      signature: z.nullish(Signature),
    },
    'must be an object like {"field": "webhook"}',
  ),
);

const Cancel = z.lazy(() =>
  members(
    {
      path: CallPath,
      method: z.nullish(oneOf(["POST", "PUT", "DELETE"])),
      body: z.nullish(
        z.custom<Readonly<Record<string, JsonValue>>>(
          (value) => typeof value === "object" && value !== null && !Array.isArray(value),
          "must be a JSON object",
        ),
      ),
      state: z.nullish(Pointers),
      means: z.nullish(oneOf(["canceled", "accepted"])),
      only_while: z.nullish(
        z
          .array(oneOf(["queued", "processing"]), "must be a list of queued and processing")
          .check(z.minLength(1, "must have a state")),
      ),
      forgets: z.nullish(flag),
    },
    'must be an object like {"path": "/cancel/{id}"}',
  ).check(
    faultless(({ path, body }) =>
      faultOf(["path"], namesJob(path) || namesJob(body ?? null) ? null : NO_ID),
    ),
  ),
);

const Auth = z.lazy(() =>
  z.pipe(
    textThat(
      (line) => AUTH.test(line) && HEADER.test(line.split(":")[0] ?? ""),
      "must be a header like Authorization: Bearer {key}, or X-Api-Key: {key}",
    ),
    z.transform((line) => {
      const [, name = "", scheme = null] = AUTH.exec(line) ?? [];
      return { name, scheme };
    }),
  ),
);

/** Returns the members that every declared connection can have. */
const entryMembers = () => ({
  provider: z.literal(DECLARED_PROVIDER),
  base_url: text("must be a URL, below which the paths begin"),
  key: z.nullish(text("must be a text")),
  auth: z.nullish(Auth),
  headers: z.nullish(
    named(
      HEADER,
      textThat((value) => /^[\x20-\x7e]{1,1024}$/.test(value), "must be printable ASCII"),
      'must be an object like {"X-Version": "1"}',
    ),
  ),
  words: z.nullish(named(/^[^]{1,64}$/, meaning, 'must be an object like {"DONE": "completed"}')),
  outputs_need_key: z.nullish(flag),
  link_life_h: z.nullish(hours),
  // Checked as for every connection: src/config/queue-limits.ts.
  in_flight: z.optional(z.unknown()),
  queue: z.optional(z.unknown()),
});

const JobEntry = z.lazy(() =>
  members(
    {
      ...entryMembers(),
      webhook_secret: z.nullish(text("must be a text")),
      polls_per_minute: z.nullish(
        z
          .int("must be a whole number")
          .check(z.gte(1, "must be at least 1"), z.lte(MAX_POLLS_PER_MINUTE, "is too large")),
      ),
      submit: JobSubmit,
      poll: Poll,
      hook: z.nullish(Hook),
      cancel: z.nullish(Cancel),
      job_life_h: z.nullish(hours),
      poll_gap_s: z.nullish(
        z
          .number("must be a number of seconds")
          .check(z.gte(1, "must be at least 1"), z.lte(3_600, "must be at most 3600")),
      ),
    },
    "must be an object",
  ).check(faultless(conflicts)),
);

/** Schema of a connection whose upstream answers calls with their results, and has no jobs to ask for. */
const ResultEntry = z.lazy(() =>
  z.pipe(
    members(
      { ...entryMembers(), submit: ResultSubmit, poll: z.nullish(ResultPlaces) },
      "must be an object",
    ).check(faultless(conflicts)),
    z.transform(({ submit, poll, ...entry }): Declaration => {
      const places = { ...poll, path: null, state: poll?.state ?? [] };
      return { ...entry, submit: { ...submit, id: [] }, poll: places };
    }),
  ),
);

const Entry = z.lazy(() =>
  either<Declaration, Declaration>(
    (value) => at(value, "submit", "answer") === RESULT,
    ResultEntry,
    JobEntry,
  ),
);

/** The parts of a declared connection that must be consistent with each other. */
interface Combined {
  readonly key?: string | null | undefined;
  readonly auth?: object | null | undefined;
  readonly webhook_secret?: string | null | undefined;
  readonly words?: Readonly<Record<string, unknown>> | null | undefined;
  readonly poll?: { readonly state?: unknown } | null | undefined;
  readonly hook?:
    | {
        readonly signature?: object | null | undefined;
        readonly secret_field?: string | null | undefined;
      }
    | null
    | undefined;
}

/**
 * Returns the faults of a declaration whose members are valid alone but contradict each other, each with the member at
 * fault.
 */
function conflicts(entry: Combined): readonly DeclarationFault[] {
  const { key, auth, hook, words, poll, webhook_secret: secret } = entry;
  const isSigned = hook?.signature != null;
  const names = Object.keys(words ?? {});
  const isUnused = secret != null || hook?.secret_field != null;
  return [
    ...faultOf(["auth"], key != null && auth == null ? AUTH_NEEDED : null),
    ...faultOf(["hook", "signature"], isUnused && !isSigned ? SIGNATURE_NEEDED : null),
    ...names.flatMap((word, index) => {
      const isTwice = names.map(spelling).indexOf(spelling(word)) !== index;
      return faultOf(["words", word], isTwice ? WORD_TWICE : null);
    }),
    ...(poll?.state === HTTP_STATUS ? statusFaults(names) : []),
  ];
}

const ENDS_MESSAGE = `must be an object like {"/code": {"501": "failed"}}: values at a pointer that say that the job has ended, each with ${END_MEANINGS.join(", ")}`;
const NO_ID = "must contain {id}, or the body must";
const AUTH_NEEDED = "is required with a key, like Authorization: Bearer {key}";
const SIGNATURE_NEEDED = "is required with webhook_secret or secret_field";
const WORD_TWICE = "is the same word as another but for capitals and spaces";

/**
 * Returns a fault for each word that is not an HTTP status, for a declaration that uses the HTTP status as the state of
 * the job.
 */
function statusFaults(names: readonly string[]): readonly DeclarationFault[] {
  if (names.length === 0) {
    return faultOf(["words"], `is required, because poll.state is ${HTTP_STATUS}`);
  }
  const message = `must be an HTTP status, because poll.state is ${HTTP_STATUS}, and none of ${NO_STATES.join(", ")}`;
  return names.flatMap((name) => {
    const isState = /^[2-5]\d\d$/.test(name) && !NO_STATES.includes(name);
    return faultOf(["words", name], isState ? null : message);
  });
}

/** Returns a list with one fault at this path; an empty list when the message is null. */
function faultOf(path: readonly string[], message: string | null): readonly DeclarationFault[] {
  return message === null ? [] : [{ path, message }];
}

/**
 * A connection whose upstream the operator has described by a declaration. It has the members that the operator has
 * written; a member that was left out is null.
 */
export interface Declaration extends Omit<z.output<typeof JobEntry>, "submit" | "poll"> {
  readonly submit: DeclaredSubmit;
  readonly poll: DeclaredPoll;
}
export type DeclaredSubmit = z.output<typeof JobSubmit> &
  Partial<Pick<z.output<typeof ResultSubmit>, "multipart" | "streams" | "unreadable">>;
/** Places in answers about jobs. The path is null when the answers to calls are the results, so that nothing is polled. */
export type DeclaredPoll = Omit<z.output<typeof Poll>, "path"> & { readonly path: string | null };
export type DeclaredHook = NonNullable<Declaration["hook"]>;
export type DeclaredCancel = NonNullable<Declaration["cancel"]>;
export type DeclaredOutput = NonNullable<DeclaredPoll["outputs"]>[number];
export type DeclaredError = NonNullable<DeclaredPoll["error"]>;

/**
 * Reads a connection whose upstream is described by a declaration. Every fault names the member at fault, and none
 * contains a value.
 */
export function parseDeclaration(
  value: unknown,
): Result<Declaration, readonly [DeclarationFault, ...DeclarationFault[]]> {
  const parsed = Entry.safeParse(value);
  if (parsed.success) return success(parsed.data);
  const [first = { path: [], message: "is not valid" }, ...others] =
    parsed.error.issues.flatMap(faultsOf);
  return failure([first, ...others]);
}
