import * as fc from "fast-check";
import { failure } from "../../src/core/result.ts";
import type { DeclarationFault } from "../../src/providers/generic/declaration-fields.ts";
import { type Declaration, parseDeclaration } from "../../src/providers/generic/declaration.ts";
import { declaredProvider } from "../../src/providers/generic/declared-provider.ts";
import { readPollAnswer } from "../../src/providers/poll-answer.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { DECLARATIONS, OWN_DECLARATIONS } from "../providers/declarations.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, examplesIn } from "../providers/examples.ts";
import { aHook } from "../providers/hook.ts";
import { fuzz, weighted } from "./fuzz.ts";
import { hostileValue } from "./hostile.ts";
import { mutated } from "./mutations.ts";
import { requireSound } from "./news.ts";
import { anAnswer } from "../providers/answer.ts";

const PLANTED = "planted-secret";
const VALID = Object.values({ ...DECLARATIONS, ...OWN_DECLARATIONS }).map((declaration) => ({
  ...declaration,
  webhook_secret: "webhook_secret" in declaration ? PLANTED : null,
}));
const BODIES = EXAMPLES.filter(({ provider }) => provider in DECLARATIONS).flatMap(({ polls }) =>
  examplesIn(polls).flatMap(({ exchanges }) => exchanges.map(({ answer }) => answer.body)),
);
const STATUSES = fc.constantFrom(200, 202, 302, 401, 404, 410, 429, 500);

/** Generates declarations with changed members, and answers to the polls of their connections. */
const inputs = fc.record({
  declaration: weighted([9, mutated(VALID, 2)], [1, hostileValue]),
  body: weighted([8, mutated(BODIES, 2)], [2, hostileValue]),
  status: STATUSES,
  id: weighted([5, fc.constant("job-1")], [1, fc.constantFrom("..", ".", "a/b", "$&", '"', "é")]),
});

type Make = (declaration: Declaration) => UpstreamProvider;
type Parse = typeof parseDeclaration;

interface Subject {
  readonly parse: Parse;
  readonly make: Make;
}

const SUBJECT: Subject = {
  parse: parseDeclaration,
  make: (declaration) => declaredProvider(declaration, "gpu"),
};

/** Requires that every call about a job stays below the base URL, in the segments that the declaration has. */
function requireInside(provider: UpstreamProvider, id: string): void {
  const job = { id, endpoint: null };
  const paths = [provider.polls.path(job), provider.cancels?.request(job)?.path ?? "/"];
  for (const path of paths) {
    const url = URL.parse(`${GATEWAY}${path}`);
    const isSame = url !== null && `${url.pathname}${url.search}` === path && url.hash === "";
    if (!isSame || url.origin !== GATEWAY) throw new Error(`the call leads to ${path}`);
  }
  const body = provider.polls.body?.(job);
  if (body !== undefined && JSON.stringify(body) === undefined) throw new Error("no body");
}

/** Requires that each fault has a place, unless the whole is no object, and shows no value. */
function requireNamed(faults: readonly DeclarationFault[], declaration: unknown): void {
  const isObject =
    typeof declaration === "object" && declaration !== null && !Array.isArray(declaration);
  for (const { path, message } of faults) {
    if ((isObject && path.length === 0) || message === "") throw new Error("a fault has no place");
    if (message.includes(PLANTED)) throw new Error(`the refusal says ${message}`);
  }
}

/** Requires that every reader of a connection takes an answer or a hook without an exception. */
function requireReadable(
  provider: UpstreamProvider,
  id: string,
  status: number,
  body: unknown,
): void {
  const job = { id, endpoint: null };
  const reading = readPollAnswer(provider.polls, anAnswer({ status, body }), job, GATEWAY);
  if (reading.kind === "observed") requireSound(reading.observation);
  const hook = aHook({}, "", { path: "/hooks/gpu/task/token" });
  const hooked = provider.hooks?.read(body, hook) ?? null;
  if (hooked !== null) requireSound(hooked);
  provider.submits?.readAnswer(body, "/run", GATEWAY);
  provider.submits?.refusal(status, body);
  provider.cancels?.read(anAnswer({ status, body }));
}

fuzz(
  "any description of an upstream in CONNECTIONS is refused with the places of its faults, or lets the relay read any answer without an exception and call only its base URL",
  {
    inputs,
    subject: SUBJECT,
    defects: {
      "names no place": {
        ...SUBJECT,
        parse: (value: unknown) => {
          const parsed = parseDeclaration(value);
          const nowhere: readonly [DeclarationFault] = [{ path: [], message: "" }];
          return parsed.ok ? parsed : failure(nowhere);
        },
      },
      "lets the id leave its segment": {
        ...SUBJECT,
        make: (declaration: Declaration) => {
          const made = SUBJECT.make(declaration);
          return { ...made, polls: { ...made.polls, path: ({ id }) => `/jobs/${id}` } };
        },
      },
      "reads links that are none": {
        ...SUBJECT,
        make: (declaration: Declaration) => {
          const made = SUBJECT.make(declaration);
          const observation = {
            jobId: null,
            state: "completed",
            urls: ["ftp://a.example/b"],
            metadata: {},
            completedAt: null,
            error: null,
          };
          return {
            ...made,
            polls: { ...made.polls, read: () => ({ kind: "observed", observation }) as const },
          };
        },
      },
    },
    check: ({ declaration, body, status, id }, { parse, make }) => {
      const parsed = parse(declaration);
      if (!parsed.ok) {
        requireNamed(parsed.error, declaration);
        return false;
      }
      const provider = make(parsed.value);
      requireInside(provider, id);
      requireReadable(provider, id, status, body);
      return true;
    },
  },
);
