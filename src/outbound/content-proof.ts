import { type CalledUrlsConfig, sourceUrlRulesOf } from "../config/callback-url-rules.ts";
import { readUpTo } from "../lib/stream.ts";
import { CONTENT_TIMEOUT_MS, isDeadlinePassed, withDeadline } from "../lib/timeout.ts";
import { type Observation, openUrls, phaseIn } from "../providers/observation.ts";
import type { Answered } from "./named-task.ts";
import { type OpenedSource, openSource } from "./open-source.ts";

/**
 * The answer at a content path: `opens` where there is a file, `closed` where there is none. Neither is known where the
 * request was `limited`, where it got no answer within its time (`late`), and where it failed (`unanswered`).
 */
export type ContentAnswer =
  | { readonly kind: "opens" | "closed" | "late" | "unanswered" }
  /** Answer of a rate limit, whose headers may name the wait. */
  | { readonly kind: "limited"; readonly status: number; readonly headers: Headers };

/** First bytes of a text in which a server says something, in place of a file: HTML, JSON, or a blank before these. */
const TEXT_STARTS = new Set(Array.from("<{[ \t\r\n", (char) => char.charCodeAt(0)));
const TEXT_TYPES = /^(?:text\/html|application\/(?:[\w.+-]+\+)?json)\b/i;

/**
 * Returns what a poll says after the content path of the job was asked, where that depends on it: the report says
 * success, and names this path or has no other link. Where a file opens there, it is an output that opens only with
 * the key; where none does, the other outputs alone count, and without any the success is one without output, so that
 * a later poll asks again. A path that the upstream has named counts as a file also when the answer is late. Null when
 * the request to the content path got no answer.
 * @param isInput tells whether a link is one that the job got as input.
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
 * Returns the link of the content path, where it decides whether a job that has succeeded has an output. Null where it
 * does not.
 */
function contentToAsk(observation: Observation, isInput: (link: string) => boolean): string | null {
  const { urls, contentUrl = null } = observation;
  if (contentUrl === null || phaseIn(observation) !== "completed") return null;
  const hasOther = urls.some((link) => !isInput(link));
  return urls.includes(contentUrl) || !hasOther ? contentUrl : null;
}

/** Returns a report with the link to a file. A text beside the file, e.g. its description, is not the output. */
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

/** Returns a report without the links that open only with the key, and without those to the input of the job. */
function withoutContent(observation: Observation, isInput: (link: string) => boolean): Observation {
  const urls = openUrls(observation).filter((link) => !isInput(link));
  return { ...observation, urls, keyedUrls: [], contentUrl: null };
}

/**
 * Asks whether a link leads to a file: requests only the first byte, and follows redirects as for any output. A page of
 * HTML or an object of JSON is an answer of a server and no file. It takes at most 30 seconds and never throws.
 * @param keyHeaders headers that authenticate the relay, for the origin of the link alone.
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
 * Returns the answer that a response at a content path is: a file, unless the response is empty or a text in which a
 * server says something.
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
