import { type CalledUrlsConfig, sourceUrlRulesOf } from "../config/callback-url-rules.ts";
import { readUpTo } from "../lib/stream.ts";
import { CONTENT_TIMEOUT_MS, isDeadlinePassed, withDeadline } from "../lib/timeout.ts";
import { type Observation, openUrls, phaseIn } from "../providers/observation.ts";
import type { Answered } from "./named-task.ts";
import { type OpenedSource, openSource } from "./open-source.ts";

/**
 * Result of asking at the content path of a job (the path with its output). `opens` means that there is a file, `closed`
 * that there is none. Whether there is one stays unknown when a rate limit refused the request (`limited`), when no
 * answer came in time (`late`), and when the request failed (`unanswered`).
 */
export type ContentAnswer =
  | { readonly kind: "opens" | "closed" | "late" | "unanswered" }
  /** Result when a rate limit has refused the request. The headers may state how long to wait. */
  | { readonly kind: "limited"; readonly status: number; readonly headers: Headers };

/**
 * First bytes of a text in HTML or JSON, including blanks. If the answer at a content path (the path with the output of
 * a job) begins with one of them, it is a message of the server and not a file.
 */
const TEXT_STARTS = new Set(Array.from("<{[ \t\r\n", (char) => char.charCodeAt(0)));
const TEXT_TYPES = /^(?:text\/html|application\/(?:[\w.+-]+\+)?json)\b/i;

/**
 * Asks at the content path of a job (the path with its output) whether there is a file, and adds this to the result of
 * a poll. It asks only if the job has succeeded and its report names the content path or no output. If there is a file,
 * the job has an output that can be fetched only with the key. If there is none, only the other outputs count; when
 * there are none either, the result is a success without output, so that a later poll asks again. If the answer does
 * not come in time, a content path that the report names is taken to have a file.
 * @param isInput tells whether a link is one that the job got as input.
 * @returns the changed or unchanged result; null when the content path gave no answer, except in this last case.
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
 * Returns the content path of a job (the path with its output) if only a request to it can show whether the successful
 * job has an output. Otherwise null.
 */
function contentToAsk(observation: Observation, isInput: (link: string) => boolean): string | null {
  const { urls, contentUrl = null } = observation;
  if (contentUrl === null || phaseIn(observation) !== "completed") return null;
  const hasOther = urls.some((link) => !isInput(link));
  return urls.includes(contentUrl) || !hasOther ? contentUrl : null;
}

/**
 * Returns the report on a job to which the link to its content path is added, because a file was found there. A text in
 * the report, e.g. a description, then does not count as the output.
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
 * Returns the report on a job without links that can be opened only with the key, and without links to the input of the
 * job.
 */
function withoutContent(observation: Observation, isInput: (link: string) => boolean): Observation {
  const urls = openUrls(observation).filter((link) => !isInput(link));
  return { ...observation, urls, keyedUrls: [], contentUrl: null };
}

/**
 * Asks whether a link leads to a file. It requests only the first byte, and follows redirects as for any output. A page
 * in HTML or an object in JSON counts as a message of the server and not as a file. This takes at most 30 seconds and
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
 * Returns what the response at the content path of a job (the path with its output) shows: either that there is a file,
 * or that there is none, because the response is empty, an error, or a message of the server in HTML or JSON.
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
