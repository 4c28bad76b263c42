import type { UpstreamNews, Usage } from "../../src/core/record/upstream.ts";
import { type Observation, progressIn, toNews } from "../../src/providers/observation.ts";
import { METADATA, memberOf } from "./wire.ts";

const CATEGORIES = "moderation invalid_input rate_limited timeout canceled provider".split(" ");
const CODES = ["upstream_error", "output_needs_store", "output_not_a_file"];
const ERROR_TEXT = { isGeneric: false, secrets: ["sk-planted-secret"] };
const encoder = new TextEncoder();

/**
 * Returns the news of an observation of an upstream.
 * @throws when a task could not continue with it.
 */
export function requireSound(observation: Observation): UpstreamNews | null {
  if (observation.jobId === "") throw new Error("the job id is empty");
  const news = toNews(observation, ERROR_TEXT);
  if (news?.status === "failed") requireSoundFailure(news);
  if (news?.status === "completed") requireSoundOutput(news);
  if (news !== null && "usage" in news) requireSoundUsage(news.usage);
  const { progress = 0 } = progressIn(observation);
  if (!Number.isInteger(progress) || progress < 0 || progress > 100)
    throw new Error(`the progress is ${progress}`);
  requireSoundOrigin(observation);
  return news;
}

function requireSoundOrigin({ model = null, submittedAt = null }: Observation): void {
  if (model === "") throw new Error("the model is empty");
  if (submittedAt !== null && !Number.isFinite(submittedAt))
    throw new Error(`the job was submitted at ${submittedAt}`);
}

function requireSoundFailure({
  error,
  failure,
}: Extract<UpstreamNews, { status: "failed" }>): void {
  const { length } = encoder.encode(error.message);
  if (!CODES.includes(error.code)) throw new Error(`the code is ${error.code}`);
  if (length === 0 || length > 1024) throw new Error(`the message has ${length} bytes`);
  if (!CATEGORIES.includes(failure.category)) throw new Error(`category ${failure.category}`);
}

function requireSoundOutput(news: Extract<UpstreamNews, { status: "completed" }>): void {
  const { urls, metadata, completedAt } = news;
  const areUrls = urls.every((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""));
  if (urls.length === 0 || !areUrls) throw new Error("the URLs are missing or invalid");
  for (const [field, value] of Object.entries(metadata)) {
    const test = memberOf(METADATA, field);
    const isTyped = typeof test === "function" && Reflect.apply(test, null, [value]) === true;
    // A larger number may have been rounded when the hook was parsed.
    const isExact = typeof value !== "number" || Number.isSafeInteger(value);
    if (!isTyped || !isExact || value === null)
      throw new Error(`metadata.${field} is ${JSON.stringify(value)}`);
  }
  if (completedAt !== null && !isTime(completedAt)) throw new Error(`the time is ${completedAt}`);
}

function requireSoundUsage(usage: Usage | undefined): void {
  const text = JSON.stringify(usage ?? {});
  const amounts: unknown[] = Object.values(usage ?? {});
  const isSound = text.length <= 1024 && /^{("[\w.-]+":-?[\d.e+-]+,?)+}$/.test(text);
  if (!isSound || amounts.some((amount) => typeof amount !== "number"))
    throw new Error(`the usage is ${text}`);
}

/** Returns whether `ms` is a whole number of Unix milliseconds before the year 5138. */
function isTime(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0 && ms < 1e14;
}
