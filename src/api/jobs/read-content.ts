import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import { isKeyNeeded } from "../../config/linked-outputs.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { JobOutput } from "../../objects/task/job-reply.ts";
import { connectionOf } from "../../outbound/upstream-connection.ts";
import type { Source } from "../../outbound/open-source.ts";
import { jobCallOf } from "../../providers/job-calls.ts";
import { type Connection, withCustomerKey } from "../../providers/provider.ts";
import { extensionOf, type LinkedOutput } from "../../security/output-link.ts";
import { checkCallbackUrl } from "../../security/url-rules.ts";
import { Problem } from "../http/problem.ts";
import { countOutputRequest } from "../http/rate-limit.ts";
import { PROBLEMS } from "../http/problem-list.ts";
import { operation } from "../operation.ts";
import { redirectTo, serveOutput } from "../outputs/serve-output.ts";
import { streamSource } from "../outputs/stream-source.ts";
import { KEY_HEADERS } from "../submit/customer-credential.ts";
import { taskClient } from "../tasks/task-client.ts";
import {
  ABOUT_JOB,
  type CallAboutJob,
  errorAnswer,
  type JobPlace,
  notServed,
  type JobAnswer,
  questionOf,
  requireJobPlace,
  responseOf,
  taskOfJob,
  unknownJob,
} from "./asked-job.ts";

type FoundOutput = Extract<JobOutput, { readonly kind: "output" }>;

/** The output that a call asks for: its task, its number, and the path of the call at the upstream. */
interface Wanted {
  readonly taskId: string;
  readonly number: number;
  readonly target: string;
}

/**
 * Sends an output of a job in response to a call of the upstream's own API, to the operator or the account that has
 * submitted the job. The output is the relay's copy, a redirect to a link that everybody can open, or what the upstream
 * sends when asked with the key with which the job was submitted.
 */
export const readContent = operation(
  "readContent",
  {
    access: "read",
    ...ABOUT_JOB,
  },
  async (call: CallAboutJob): Promise<Response> => {
    const { body, caller, env } = call;
    const place = await requireJobPlace(call);
    const asked = jobCallOf(place.adapter, "GET", body.path, body.query);
    if (asked?.kind !== "content") return responseOf(notServed(place));
    const { jobId, number, target } = asked;
    const taskId = await taskOfJob(place.connection, jobId, env);
    if (taskId === null) return responseOf(unknownJob(place));
    const question = questionOf(place, body, asked);
    const output = await taskClient(env, taskId).outputOfJob(question, number, caller);
    if (output.kind === "unknown_job") return responseOf(unknownJob(place));
    if (output.kind === "none") return responseOf(noOutput(place));
    const wanted = { taskId, number, target };
    return await inForm(place, sentWithoutRelayKey(call, place, wanted, output));
  },
);

/**
 * Sends an output. The relay follows a redirect itself when the client would send the relay's key to the new host:
 * clients remove only `Authorization` (https://fetch.spec.whatwg.org/#http-redirect-fetch) and no other header with a
 * key.
 */
async function sentWithoutRelayKey(
  call: CallAboutJob,
  place: JobPlace,
  wanted: Wanted,
  output: FoundOutput,
): Promise<Response> {
  const answer = await sent(call, place, wanted, output);
  const url = answer.headers.get("Location");
  const { body, env, origin, runtime } = call;
  if (url === null || !isKeyTakenAlong(body.headers)) return answer;
  const rules = sourceUrlRulesOf(runtime.config, origin);
  const source: Source = { url, keyHeaders: {}, pointer: null, rules };
  const about = { ...linkedOutput(wanted, output), expiresAtS: 0 };
  return await streamSource(body, about, source, env.startup.waitUntil);
}

function isKeyTakenAlong(headers: Headers): boolean {
  const others = KEY_HEADERS.filter((name) => name !== "Authorization");
  return ["Relay-Key", ...others].some((name) => headers.has(name));
}

function linkedOutput({ taskId, number }: Wanted, { recordedAt, source }: FoundOutput) {
  return { taskId, number, recordedAt, extension: extensionOf(source) };
}

/**
 * Sends an output in the same way as the relay's link to it does or, if there is no such link, from the upstream. The
 * rate limit counts the call like a request with a link.
 */
async function sent(
  call: CallAboutJob,
  place: JobPlace,
  wanted: Wanted,
  output: FoundOutput,
): Promise<Response> {
  const { body, env, runtime } = call;
  await countOutputRequest(wanted.taskId, body.headers, env);
  const { linked, source } = output;
  const about = linkedOutput(wanted, output);
  if (linked !== null) {
    const { expiresAt, place: placed } = linked;
    const expiresAtS = Math.floor(expiresAt / SECOND_MS);
    const link = { ...about, expiresAtS };
    const served = await serveOutput(body, link, async () => placed, runtime, env);
    return served ?? responseOf(noOutput(place));
  }
  const connection = runtime.config.connections.get(output.connection);
  if (connection !== undefined && isKeyNeeded(source, connection)) {
    return await fromUpstream(call, connection, wanted, output, { ...about, expiresAtS: 0 });
  }
  const target = checkCallbackUrl(source, sourceUrlRulesOf(runtime.config, call.origin));
  return target.ok ? redirectTo(target.value.href) : responseOf(noOutput(place));
}

/**
 * Passes on what the upstream sends for this call of its own API, requested with the key with which the job was
 * submitted. The link in the task's result is not requested with the key, because it is not known who has reported that
 * link.
 */
async function fromUpstream(
  { body, env, origin, runtime }: CallAboutJob,
  { name, baseUrl }: Connection,
  { taskId, target }: Wanted,
  { customer }: FoundOutput,
  output: LinkedOutput,
): Promise<Response> {
  const owner = { taskId, connection: name, customerKey: customer?.key ?? null };
  const stored = await connectionOf(owner, runtime);
  const isStored = customer === null || customer.key !== null;
  const keyed = stored === null || isStored ? stored : withCustomerKey(stored, customer.ownKey);
  const { polls } = keyed?.provider ?? { polls: null };
  const key = keyed?.key ?? null;
  const keyHeaders = polls === null || key === null ? {} : await polls.headers(key, Date.now());
  const rules = sourceUrlRulesOf(runtime.config, origin);
  const source: Source = { url: `${baseUrl}${target}`, keyHeaders, pointer: null, rules };
  return await streamSource(body, output, source, env.startup.waitUntil);
}

/** Waits for a response. A problem that is thrown instead becomes a response in the form of the upstream's errors. */
async function inForm(place: JobPlace, answer: Promise<Response>): Promise<Response> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { detail, headers } = error.details;
    return responseOf(errorAnswer(place.adapter, PROBLEMS[error.code].status, detail, headers));
  }
}

function noOutput({ adapter }: JobPlace): JobAnswer {
  return errorAnswer(adapter, 404, "The job has no such output, or has not ended yet.");
}
