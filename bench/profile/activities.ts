/** Kinds of work for which a task needs CPU time, in the order of a task. */
export const ACTIVITIES = [
  "route: find the operation, headers of the answer",
  "check the key",
  "validate: read and check the body and the URLs",
  "call the object of the task",
  "decide what follows: object, work loop, src/core",
  "validate the record before it is stored",
  "store: record and alarm",
  "view: JSON of the task for the answer",
  "sign: headers and signatures of the callback",
  "send the callback",
  "read the receiver's answer",
  "log",
  "other",
  "the platform, outside of any function",
  "collect garbage",
] as const;

export type Activity = (typeof ACTIVITIES)[number];

const [ROUTE, KEY, VALIDATE, CALL, DECIDE, RECORD, STORE, VIEW, SIGN, SEND, ANSWER, LOG] =
  ACTIVITIES;

/** Assigns functions of a source file, or of all files of a folder, to an activity. */
export interface Rule {
  /** Path of a file, or of a folder with the slash at its end. */
  readonly path: string;
  /** Names of the functions; null for all that no earlier rule names. */
  readonly functions: readonly string[] | null;
  readonly activity: Activity;
}

const all = (activity: Activity, ...paths: readonly string[]): readonly Rule[] =>
  paths.map((path) => ({ path, functions: null, activity }));
const only = (activity: Activity, path: string, ...functions: readonly string[]): Rule => ({
  path,
  functions,
  activity,
});

const FLOOR = "bench/throughput/promises-worker.ts";

/**
 * The rules, the first of which that fits counts. A function without a rule, e.g. one of zod, counts for the one that
 * called it.
 */
export const RULES: readonly Rule[] = [
  only(KEY, FLOOR, "hasKey"),
  only(VALIDATE, FLOOR, "jsonIn", "eventOf", "outputOf", "metadataOf", "isAllowed", "isHttpUrl"),
  only(CALL, FLOOR, "report"),
  only(STORE, FLOOR, "#load", "#store"),
  only(VIEW, FLOOR, "viewOf"),
  only(SIGN, FLOOR, "sign", "base64"),
  only(SEND, FLOOR, "send"),
  only(ANSWER, FLOOR, "excerptOf"),
  only(LOG, FLOOR, "log"),
  only(DECIDE, FLOOR, "accept", "alarm", "#attempt", "#end", "bodyOf", "endOf"),
  ...all(ROUTE, FLOOR),

  ...all(KEY, "src/api/http/auth.ts", "src/api/http/key-owner.ts"),
  ...all(KEY, "src/security/operator-key-hashes.ts"),
  ...all(VALIDATE, "src/api/http/body.ts", "src/api/tasks/event-schema.ts"),
  ...all(VALIDATE, "src/api/callbacks/callback-url.ts", "src/security/url-rules.ts"),
  ...all(VALIDATE, "src/security/ip-address.ts", "src/core/plans/stored-size.ts"),
  ...all(CALL, "src/api/tasks/task-client.ts", "src/api/http/object-call.ts"),
  ...all(CALL, "src/objects/object-names.ts", "src/objects/placed-object.ts"),
  ...all(RECORD, "src/core/record/record-schema.ts"),
  ...all(STORE, "src/objects/task/record-store.ts", "src/objects/recovery.ts"),
  only(STORE, "src/objects/task/object-platform.ts", "setAlarm"),
  ...all(LOG, "src/lib/log.ts", "src/core/views/settled-summary.ts"),
  only(LOG, "src/objects/task/calls.ts", "attemptLine", "settledLine"),
  ...all(VIEW, "src/core/views/", "src/objects/task/reply.ts", "src/objects/task/watchers.ts"),
  ...all(SIGN, "src/security/signature.ts"),
  only(SIGN, "src/outbound/webhooks.ts", "callbackRequest", "headersDigest", "signedRequest"),
  only(ANSWER, "src/outbound/http.ts", "excerptOf", "answerHeaders", "resultOf"),
  // `readBodyUpTo` also reads bodies of requests, and counts for its caller.
  only(ANSWER, "src/lib/stream.ts", "readUpTo"),
  ...all(ANSWER, "src/core/record/outcome.ts"),
  ...all(SEND, "src/outbound/", "src/lib/timeout.ts"),
  ...all(DECIDE, "src/core/duties/", "src/core/events/", "src/core/polls/", "src/core/record/"),
  ...all(DECIDE, "src/core/policy.ts", "src/core/step.ts", "src/core/transition.ts"),
  ...all(DECIDE, "src/objects/task/"),
  ...all(ROUTE, "src/app.ts", "src/index.ts", "src/api/", "node_modules/hono/"),
];

/**
 * Returns the activity of a function of a bundle; null when no rule names it.
 * @param name name of the function; esbuild adds a digit to one that several files have.
 */
export function activityOf(file: string, name: string): Activity | null {
  const plain = name.replace(/\d+$/, "");
  const rule = RULES.find(({ path, functions }) => {
    if (path.endsWith("/") ? !file.startsWith(path) : file !== path) return false;
    return functions === null || functions.some((each) => each === name || each === plain);
  });
  return rule?.activity ?? null;
}
