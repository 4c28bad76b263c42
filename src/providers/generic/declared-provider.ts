import { HOUR_MS, SECOND_MS } from "../../core/time.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { CancelAdapter, CancelReading } from "../cancel.ts";
import { type JobCallAdapter, type JobPath, usualErrorBody } from "../job-calls.ts";
import type { Phase } from "../phase.ts";
import { readingOfStatus } from "../poll-answer.ts";
import { type PollAdapter, readingOf, type UpstreamProvider } from "../provider.ts";
import { bodyFor, membersFor, pathFor } from "./call-template.ts";
import {
  type Declaration,
  DECLARED_PROVIDER,
  type DeclaredCancel,
  type DeclaredPoll,
  HTTP_STATUS,
} from "./declaration.ts";
import { hooksOf } from "./declared-hooks.ts";
import { phaseOfMeaning, readReport, type ReadState, stateIn } from "./declared-reports.ts";
import { submitsOf } from "./declared-submits.ts";

/** Time in milliseconds between two polls of one job when the declaration of the upstream states none. */
const USUAL_GAP_MS = SECOND_MS;
/**
 * HTTP statuses which mean that a call about a job is not possible, e.g. in the job's present state, but not that the
 * job is unknown.
 */
const REFUSALS: readonly number[] = [400, 405, 409, 410, 422];

/**
 * Returns the adapter for the upstream that a connection declares.
 * @param name name of the connection.
 */
export function declaredProvider(declaration: Declaration, name: string): UpstreamProvider {
  const { cancel, poll } = declaration;
  const lifeMs = declaration.link_life_h == null ? null : declaration.link_life_h * HOUR_MS;
  return {
    name: DECLARED_PROVIDER,
    baseUrls: null,
    hooks: hooksOf(declaration),
    linkLife: lifeMs === null ? null : { minMs: lifeMs, maxMs: lifeMs },
    needsKey: () => declaration.outputs_need_key === true,
    polls: pollsOf(declaration),
    submits: submitsOf(declaration, name),
    ...(cancel != null && { cancels: cancelsOf(cancel, declaration) }),
    jobCalls: jobCallsOf(poll, cancel ?? null),
    usageNames: Object.keys(poll.usage ?? {}),
  };
}

/**
 * Returns the calls about jobs that clients can make through the relay, as the declaration describes them: the poll, if
 * it is a `GET`, and the cancellation, if its path contains the id of the job. The relay answers a cancellation with
 * the answer to a poll, and writes its own errors in the form that most upstreams use, because a declaration describes
 * neither the upstream's answers to cancellations nor its errors.
 */
function jobCallsOf({ path, method }: DeclaredPoll, cancel: DeclaredCancel | null): JobCallAdapter {
  if (path === null || method === "POST") return { read: [], errorBody: usualErrorBody };
  const read = templateOf(path);
  if (cancel === null || !cancel.path.includes("{id}"))
    return { read: [read], errorBody: usualErrorBody };
  const paths = [templateOf(cancel.path)];
  const call = { method: cancel.method ?? "POST", paths, answer: { read } };
  return { read: [read], cancel: call, errorBody: usualErrorBody };
}

function templateOf(path: string): JobPath {
  return `/${path.slice(1)}`;
}

function pollsOf(declaration: Declaration): PollAdapter {
  const { poll, auth, headers, poll_gap_s: gapS, job_life_h: lifeH } = declaration;
  const { path, method, body } = poll;
  const isPost = method === "POST";
  return {
    gapMs: gapS == null ? USUAL_GAP_MS : gapS * SECOND_MS,
    maxAgeMs: lifeH == null ? null : lifeH * HOUR_MS,
    endpoint: null,
    ...(auth != null && {
      keyHeader: { name: auth.name, schemes: auth.scheme === null ? [] : [auth.scheme] },
    }),
    ...(auth == null && { takesNoKey: true }),
    headers: async (key) => ({
      ...headers,
      ...(auth != null && { [auth.name]: auth.scheme === null ? key : `${auth.scheme} ${key}` }),
    }),
    path: ({ id }) => pathFor(path ?? "/", id),
    ...(path === null && { hasNoJobs: true }),
    ...(isPost && { body: ({ id }) => bodyFor(body ?? {}, id) }),
    read: (answer, { id }, baseUrl) => {
      const report = { ...answer, jobId: id, baseUrl };
      if (poll.state === HTTP_STATUS && stateIn(report, poll, declaration).meaning === null) {
        return readingOfStatus(answer) ?? { kind: "unclear", word: String(answer.status) };
      }
      return readingOf(readReport(report, poll, declaration));
    },
    ...(poll.state === HTTP_STATUS && { readsEveryStatus: true }),
  };
}

function cancelsOf(cancel: DeclaredCancel, declaration: Declaration): CancelAdapter {
  return {
    request: ({ id }) => ({
      method: cancel.method ?? "POST",
      path: pathFor(cancel.path, id),
      ...(cancel.body != null && { body: membersFor(cancel.body, id) }),
    }),
    read: (answer) => cancelReadingOf(answer, cancel, declaration),
    ...(cancel.only_while != null && { onlyWhile: cancel.only_while }),
    ...(cancel.forgets === true && { forgetsCanceled: true }),
  };
}

/**
 * Returns the meaning of an answer to the call that cancels a job. The state of the job in the answer decides; if the
 * answer states none, the HTTP status decides.
 */
function cancelReadingOf(
  answer: Answer,
  { state, means }: DeclaredCancel,
  declaration: Declaration,
): CancelReading {
  if (!isSuccess(answer)) return REFUSALS.includes(answer.status) ? "refused" : "unknown";
  if (state == null) return means ?? "accepted";
  const report = { body: answer.body, status: null, jobId: null, baseUrl: "" };
  const read = stateIn(report, { state, otherwise: null }, declaration);
  return isCanceled(read) ? "canceled" : CANCEL_READINGS[phaseOf(read)];
}

/** Meanings of an answer to the call that cancels a job, by the state of the job that the answer contains. */
const CANCEL_READINGS = {
  queued: "accepted",
  processing: "accepted",
  completed: "ended",
  failed: "ended",
  unknown: "unknown",
} as const satisfies Readonly<Record<Phase | "unknown", CancelReading>>;

function isCanceled({ word, meaning }: ReadState): boolean {
  return meaning === "canceled" || /^cancell?ed$/i.test(word ?? "");
}

function phaseOf({ meaning }: ReadState): Phase | "unknown" {
  return meaning === null ? "unknown" : phaseOfMeaning(meaning);
}
