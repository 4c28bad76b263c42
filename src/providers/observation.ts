import type { JsonObject } from "../core/json.ts";
import { ratioIn, resolutionIn } from "../core/output-metadata/pixels.ts";
import type { UpstreamEnd, UpstreamFailure, UpstreamNews } from "../core/record/upstream.ts";
import { type ErrorText, type UpstreamError, failureOf } from "./failure.ts";
import { type Phase, phaseOf } from "./phase.ts";
import { type Amounts, usageOf } from "./usage.ts";

/**
 * An observation: a provider's report on a job in the relay's fields. Only the state keeps the provider's spelling.
 */
export interface Observation {
  /** The provider's id of the job. Null when the report does not state it. */
  readonly jobId: string | null;
  /** The relay's task id, if the submit call contained it and the provider repeats it in the report. */
  readonly taskId?: string | null;
  /** The hook URL of the submit call, if the provider repeats it in the report. */
  readonly hookUrl?: string | null;
  /** State of the job as the provider spells it. Null when the report does not state it. */
  readonly state: string | null;
  /**
   * Meaning of `state` for the relay (queued, processing, completed or failed); null when the meaning is not known.
   * Absent when the meaning follows from the words for states that the relay knows of all providers (`phase.ts`).
   */
  readonly phase?: Phase | null;
  /** Links to the outputs, the main one first. */
  readonly urls: readonly string[];
  /**
   * The links among `urls` that open only with the API key. They are used only if the relay gives clients links of its
   * own. Absent when the adapter reads no such links.
   */
  readonly keyedUrls?: readonly string[];
  /**
   * True when the links among `urls` that open without the key lead only to pictures that accompany a video, e.g. its
   * last frame. Without the video they are no output. Absent when this is not so, or not known.
   */
  readonly areOpenUrlsPictures?: boolean;
  /**
   * Link at which the upstream serves the file of the job to the holder of the API key. The report alone does not prove
   * that there is a file. If the link is one of `urls`, or `urls` has no output, the poll first asks at this link
   * (`outbound/content-proof.ts`). Absent or null when nothing is to be asked.
   */
  readonly contentUrl?: string | null;
  /**
   * Links with which the relay finds outputs that the report itself contains (`inline-output.ts`). Null for an output
   * that the relay cannot find again. Absent when there are none, and when the report has links.
   */
  readonly inlineOutputs?: readonly (string | null)[];
  /**
   * True when the output is no file but text, or the id of something made. Absent when the output is a file, or when
   * this is not known.
   */
  readonly isText?: boolean;
  readonly metadata: Metadata;
  /** Time at which the job completed, in Unix milliseconds. Null when the report does not state it. */
  readonly completedAt: number | null;
  readonly error: UpstreamError | null;
  /** Progress of the job in percent, as the provider states it. Null or absent when the report states none. */
  readonly progress?: number | null;
  /**
   * Consumption or cost of the job, as the provider states it. It is used only when the report says that the job
   * has ended. Null or absent when the report states none.
   */
  readonly usage?: Amounts | null;
  /**
   * Model of the job, as the provider names it. Null or absent when the report does not state it, or when the adapter
   * does not read it because a job is recognised by something else.
   */
  readonly model?: string | null;
  /**
   * Time at which the job was submitted, by the provider's clock, in Unix milliseconds. Null or absent when the report
   * does not state it, or when the adapter does not read it because a job is recognised by something else.
   */
  readonly submittedAt?: number | null;
}

/**
 * Metadata of the output, as the JSON of a task shows it. A field that the report does not state is null or absent.
 */
export interface Metadata {
  /** Seed of the output. A seed that a number cannot represent exactly is a text of digits. */
  readonly seed?: number | string | null;
  /** Ratio of width to height, or a size in pixels, as the provider spells it. */
  readonly ratio?: string | null;
  readonly duration?: number | null;
  /** Resolution, or a size in pixels, as the provider spells it. */
  readonly resolution?: string | null;
  readonly generate_audio?: boolean | null;
  readonly framespersecond?: number | null;
}

/**
 * Latest completion time that is accepted from a provider's report, in Unix milliseconds. A later time counts as
 * not reported. Events that upstreams report have the same limit.
 */
const MAX_TIME_MS = 99_999_999_999_000;

/**
 * Error code of a task whose output the answer itself contains, so that the relay would have to keep the output, which
 * it does not.
 */
const NEEDS_STORE_CODE = "output_needs_store";
/**
 * Failure of a task whose output the upstream's answer itself contains, in a relay that keeps no outputs. A callback
 * can only contain links.
 */
const NEEDS_STORE = undeliverable(
  NEEDS_STORE_CODE,
  "The upstream has sent the output itself and no link to it. The relay keeps such outputs only where the bucket OUTPUTS is bound and PUBLIC_URL is set.",
);
/** Failure of a task whose output is contained in an answer that cannot be fetched again by a `GET`. */
const NOT_FOUND_AGAIN = undeliverable(
  NEEDS_STORE_CODE,
  "The upstream has sent the output itself and no link to it, in an answer that the relay cannot ask for again to keep the output.",
);
/** Failure of a task whose output is text, to which there is no link. */
const NOT_A_FILE = undeliverable(
  "output_not_a_file",
  "The job has succeeded, and its output is text and no file. The relay delivers links to files only.",
);

/**
 * Returns the failure of a task whose job has succeeded, but whose output cannot be delivered. Submitting the job again
 * would not help.
 */
function undeliverable(code: string, message: string): UpstreamFailure {
  const failure = { category: "provider", retryable: false } as const;
  return { status: "failed", error: { code, message }, failure };
}

/** Rules by which the relay makes from a provider's report on a job what clients get. */
export interface NewsRules extends ErrorText {
  /**
   * True when the relay can give clients links of its own to an output that opens only with the API key. Absent means that
   * it cannot; such an output then counts as none.
   */
  readonly areKeyedLinksServed?: boolean;
  /**
   * True when the relay keeps outputs that an answer itself contains. Absent means that it does not; a task with such
   * an output then fails.
   */
  readonly areInlineOutputsKept?: boolean;
}

/**
 * Returns the news of a job from a provider's report: its state, with the result or the failure when the job has
 * ended. Null when the relay does not know the state in the report.
 */
export function toNews(observation: Observation, rules: NewsRules): UpstreamNews | null {
  const { state } = observation;
  const phase = phaseIn(observation);
  const usage = usageOf(observation.usage ?? null);
  switch (phase) {
    case null:
      return null;
    case "queued":
    case "processing":
      return { status: phase };
    case "completed":
      return { ...successOf(observation, rules), ...usage };
    case "failed":
      return { ...failureOf(state ?? "", observation.error, rules), ...usage };
  }
}

/**
 * Returns the meaning of a job's state in a report: queued, processing, completed or failed. Null when it is not known.
 */
export function phaseIn({ phase, state }: Pick<Observation, "phase" | "state">): Phase | null {
  return phase === undefined ? phaseOf(state) : phase;
}

/** Returns the end of a task whose job has succeeded: with its output, or failed because no output can be delivered. */
function successOf(observation: Observation, rules: NewsRules): UpstreamEnd {
  const { completedAt, inlineOutputs = [], isText, metadata } = observation;
  const urls = usableUrls(observation, rules);
  if (urls.length > 0) {
    return {
      status: "completed",
      completedAt: timeOf(completedAt),
      urls,
      metadata: withoutUnknown({ ...metadata, ...frameOf(metadata) }),
    };
  }
  if (inlineOutputs.length > 0) {
    return rules.areInlineOutputsKept === true ? NOT_FOUND_AGAIN : NEEDS_STORE;
  }
  return isText === true ? NOT_A_FILE : { status: "no_output" };
}

/**
 * Returns the links to the outputs that a callback may contain and, if the relay keeps outputs, the links with which it
 * finds outputs inside an answer.
 */
function usableUrls(
  observation: Observation,
  { areKeyedLinksServed = false, areInlineOutputsKept = false }: NewsRules,
): readonly string[] {
  const { inlineOutputs = [] } = observation;
  const linked = areKeyedLinksServed ? provenUrls(observation) : openUrls(observation);
  if (!areInlineOutputsKept) return linked;
  return [...linked, ...inlineOutputs.filter((source) => source !== null)];
}

/**
 * Returns the links to the outputs that open without the key. Returns none when they lead only to pictures that
 * accompany a video.
 */
export function openUrls({
  urls,
  keyedUrls = [],
  contentUrl = null,
  areOpenUrlsPictures = false,
}: Observation): readonly string[] {
  if (areOpenUrlsPictures) return [];
  return urls.filter((url) => url !== contentUrl && !keyedUrls.includes(url));
}

/**
 * Returns the links to the outputs of a job. Returns none when one of them is `contentUrl`, because only a request can
 * show whether there is a file at that link.
 */
export function provenUrls({ urls, contentUrl = null }: Observation): readonly string[] {
  return contentUrl !== null && urls.includes(contentUrl) ? [] : urls;
}

/**
 * Returns the progress in a report as a whole number from 0 to 100. Returns no field when the report states no
 * progress.
 */
export function progressIn({ progress = null }: Observation): { readonly progress?: number } {
  if (progress === null || Number.isNaN(progress)) return {};
  return { progress: Math.round(Math.min(Math.max(progress, 0), 100)) };
}

/** Returns a time rounded to whole milliseconds. Null when there is none, or when it is out of range. */
function timeOf(ms: number | null): number | null {
  return ms === null || !(ms >= 0 && ms <= MAX_TIME_MS) ? null : Math.round(ms);
}

/** Returns ratio and resolution of the output. An upstream may state either of them as a size in pixels. */
function frameOf({ ratio, resolution }: Metadata): Metadata {
  const [first, second] = [ratio ?? "", resolution ?? ""];
  return {
    ratio: ratioIn(first) ?? ratioIn(second),
    resolution: resolutionIn(second) ?? resolutionIn(first),
  };
}

function withoutUnknown(metadata: Metadata): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) =>
      value === null || value === undefined || value === "" ? [] : [[key, value]],
    ),
  );
}
