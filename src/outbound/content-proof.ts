import { type CalledUrlsConfig, sourceUrlRulesOf } from "../config/callback-url-rules.ts";
import { readUpTo } from "../lib/stream.ts";
import { CONTENT_TIMEOUT_MS, isDeadlinePassed, withDeadline } from "../lib/timeout.ts";
import { type Observation, openUrls, phaseIn } from "../providers/observation.ts";
import type { Answered } from "./named-task.ts";
import { type OpenedSource, openSource } from "./open-source.ts";

/**
 * The answer of a content path (the path with the output of a job): `opens` when there is a file, `closed` when there
 * is none. It is not known whether there is one when a rate limit refused the request (`limited`), when no answer came
 * in time (`late`), and when the request failed (`unanswered`).
 */
export type ContentAnswer =
  | { readonly kind: "opens" | "closed" | "late" | "unanswered" }
  /** Result when a rate limit has refused the request. The headers may name the time to wait. */
  | { readonly kind: "limited"; readonly status: number; readonly headers: Headers };

/**
 * First bytes of an HTML or JSON text, or of a blank before it. A server that sends such a text at a content path
 * answers with a message and not with a file.
 */
const TEXT_STARTS = new Set(Array.from("<{[ \t\r\n", (char) => char.charCodeAt(0)));
const TEXT_TYPES = /^(?:text\/html|application\/(?:[\w.+-]+\+)?json)\b/i;

/**
 * Completes the answer of a poll by asking the content path of the job (the path with its output), if the job has
 * succeeded and its report names this path or no other output. If there is a file, the job has an output that opens
 * only with the key. If there is none, only the other outputs count; without any, the answer is a success without
 * output, so that a later poll asks again. A content path that the report names also counts as a file when its answer
 * is late.
 * @param isInput tells whether a link is one that the job got as input.
 * @returns the completed or unchanged answer; null when the content path gave no answer.
 */
export async function withContent(
  answered: Answered,
  isInput: (link: string) => boolean,
  askContent: (url: string) => Promise<ContentAnswer>,
): Promise<Answered | null> {
  const { reading, head } = answered;
  if (reading.kind !== "observed") return answered;
  const { observation } = reading;
  const url = contentToAsk(observation, isInput);
  if (url === null) return answered;
  const answer = await askContent(url);
  const observed = (known: Observation): Answered => {
    return { head, reading: { kind: "observed", observation: known } };
  };
  switch (answer.kind) {
    case "opens":
      return observed(proven(observation, url));
    case "late":
      return observation.urls.includes(url) ? observed(proven(observation, url)) : null;
    case "closed":
      return observed(withoutContent(observation, isInput));
    case "limited": {
      const { status, headers } = answer;
      return { reading: { kind: "limited" }, head: { ...head, status, headers } };
    }
    case "unanswered":
      return null;
  }
}

/**
 * Returns the content path of a job (the path with its output) if only this path can show whether the successful job
 * has an output. Null when it need not be asked.
 */
function contentToAsk(observation: Observation, isInput: (link: string) => boolean): string | null {
  const { urls, contentUrl = null } = observation;
  if (contentUrl === null || phaseIn(observation) !== "completed") return null;
  const hasOther = urls.some((link) => !isInput(link));
  return urls.includes(contentUrl) || !hasOther ? contentUrl : null;
}

/**
 * Returns the report on a job with the link to its content path, at which a file was found. A text in the report, e.g.
 * a description, then does not count as the output.
 */
function proven(observation: Observation, url: string): Observation {
  const { urls, keyedUrls = [] } = observation;
  const isNamed = urls.includes(url);
  return {
    ...observation,
    urls: isNamed ? urls : [url],
    keyedUrls: isNamed ? keyedUrls : [url],
    isText: false,
    contentUrl: null,
  };
}

/**
 * Returns the report on a job without the links that open only with the key, and without links to the input of the job.
 */
function withoutContent(observation: Observation, isInput: (link: string) => boolean): Observation {
  const urls = openUrls(observation).filter((link) => !isInput(link));
  return { ...observation, urls, keyedUrls: [], contentUrl: null };
}

/**
 * Asks whether a link leads to a file: requests only the first byte, and follows redirects as for any output. A page of
 * HTML or an object of JSON counts as a message of the server and not as a file. This takes at most 30 seconds and
 * never throws.
 * @param keyHeaders headers that authenticate the relay; they are sent only to the origin of the link.
 */
export function askForFile(
  url: string,
  keyHeaders: Readonly<Record<string, string>>,
  config: CalledUrlsConfig,
  aborted: AbortSignal | null,
): Promise<ContentAnswer> {
  const source = { url, keyHeaders, pointer: null, rules: sourceUrlRulesOf(config, "") };
  const ask = async (signal: AbortSignal): Promise<ContentAnswer> => {
    const answer = await sourceAnswer(await openSource(source, { Range: "bytes=0-0" }, signal));
    const isLate = answer.kind === "unanswered" && isDeadlinePassed(signal);
    return isLate ? { kind: "late" } : answer;
  };
  return withDeadline(CONTENT_TIMEOUT_MS, ask, aborted);
}

async function sourceAnswer(opened: OpenedSource): Promise<ContentAnswer> {
  switch (opened.kind) {
    case "opened":
      return contentAnswer(opened.response);
    case "refused":
      return refusal(opened);
    case "not_ready":
    case "blocked":
      return { kind: "closed" };
    case "unreachable":
      return { kind: "unanswered" };
  }
}

/**
 * Returns what the response at a content path shows: that there is a file, or that there is none because the response
 * is empty, an error, or a message of the server in HTML or JSON.
 */
export async function contentAnswer({
  body,
  headers,
  ok,
  status,
}: Response): Promise<ContentAnswer> {
  if (!ok) return refusal({ status, headers });
  const { bytes, isBroken } = await readUpTo(body, 1);
  const [first] = bytes;
  if (first === undefined) return { kind: isBroken ? "unanswered" : "closed" };
  const isText = TEXT_TYPES.test(headers.get("Content-Type") ?? "") && TEXT_STARTS.has(first);
  return { kind: isText ? "closed" : "opens" };
}

function refusal({ status, headers }: Pick<Response, "status" | "headers">): ContentAnswer {
  return status === 429 ? { kind: "limited", status, headers } : { kind: "closed" };
}
