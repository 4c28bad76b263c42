import type { JsonObject } from "../core/json.ts";
import { ratioIn, resolutionIn } from "../core/output-metadata/pixels.ts";
import {
  NEEDS_STORE_CODE,
  type UpstreamEnd,
  type UpstreamFailure,
  type UpstreamNews,
} from "../core/record/upstream.ts";
import { type ErrorText, type UpstreamError, failureOf } from "./failure.ts";
import { type Phase, phaseOf } from "./phase.ts";
import { type Amounts, usageOf } from "./usage.ts";

/**
 * A provider's report on a job, in the form that is the same for all providers. Only the state is in the provider's own
 * words.
 */
export interface Observation {
  /** The provider's id of the job. Null when the report does not state it. */
  readonly jobId: string | null;
  /** The relay's task id, if the submit call contained it and the provider repeats it in the report. */
  readonly taskId?: string | null;
  /** The hook URL of the submission, if the provider repeats it in the report. */
  readonly hookUrl?: string | null;
  /** State of the job as the provider spells it. Null when the report does not state it. */
  readonly state: string | null;
  /**
   * Meaning of `state` for the relay (queued, processing, completed or failed); null when the meaning is not known.
   * When it is absent, the meaning is looked up among the words that the relay knows from all providers (`phase.ts`).
   */
  readonly phase?: Phase | null;
  /** Links to the outputs, the main one first. */
  readonly urls: readonly string[];
  /**
   * Those links of `urls` that can be opened only with the API key. They are used only if the relay gives clients links
   * of its own. Absent when the adapter reads no such links.
   */
  readonly keyedUrls?: readonly string[];
  /**
   * True when those links of `urls` that can be opened without a key all lead to pictures that accompany a video, e.g.
   * to its last frame. Without the video they are no output. Absent when this is not so, or not known.
   */
  readonly areOpenUrlsPictures?: boolean;
  /**
   * Link at which the upstream serves the job's file to the holder of the API key, if the report alone does not prove
   * that there is a file. If the link is among `urls`, or if `urls` contains no output, the poll first asks at this
   * link whether the file exists (`outbound/content-proof.ts`). Absent or null when nothing is to be asked.
   */
  readonly contentUrl?: string | null;
  /**
   * Links to outputs that are inside the report itself (`inline-output.ts`): the URL of the report with a JSON Pointer
   * as its fragment. Null stands for an output that the relay cannot find again. Absent when there are none, and when
   * the report has links.
   */
  readonly inlineOutputs?: readonly (string | null)[];
  /**
   * True when the output is not a file: it is text, or the id of something that the job has made. Absent when the
   * output is a file, or when this is not known.
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
   * Model of the job, as the provider names it. Null or absent when the report does not state it, and when the adapter
   * does not read it because the provider's answers identify a job in another way.
   */
  readonly model?: string | null;
  /**
   * Time at which the job was submitted, by the provider's clock, in Unix milliseconds. Null or absent when the report
   * does not state it, and when the adapter does not read it because the provider's answers identify a job in another
   * way.
   */
  readonly submittedAt?: number | null;
}

/**
 * Metadata of the output, with the names that they have in the JSON of a task. A field that the report does not state
 * is null or absent.
 */
export interface Metadata {
  /** Seed of the output. A seed that a JavaScript number cannot represent exactly is the string of its digits. */
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
 * Latest completion time that is accepted from a provider's report, in Unix milliseconds. A later time counts as not
 * reported. The same limit applies to the times in events of `POST /v1/events`.
 */
const MAX_TIME_MS = 99_999_999_999_000;

/**
 * Failure of a task whose output is inside the upstream's answer, in a relay that does not store outputs. It cannot be
 * delivered, because a callback contains only links.
 */
const NEEDS_STORE = undeliverable(
  NEEDS_STORE_CODE,
  "The upstream has sent the output itself and no link to it. The relay keeps such outputs only where it has a bucket for them and PUBLIC_URL is set.",
);
/** Failure of a task whose output is inside an answer that cannot be fetched again by a `GET`. */
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

/** Rules that decide what clients get of a provider's report on a job. */
export interface NewsRules extends ErrorText {
  /**
   * True when the relay can give clients links of its own to an output that can be opened only with the API key. Absent
   * means that it cannot; such an output is then ignored.
   */
  readonly areKeyedLinksServed?: boolean;
  /**
   * True when the relay stores outputs that are inside an answer. Absent means that it does not; a task with such an
   * output then fails.
   */
  readonly areInlineOutputsKept?: boolean;
  /**
   * True when the relay has stored the answer and the files in it, so that the answer is a result even without links.
   * Absent when it has not.
   */
  readonly isAnswerStored?: boolean;
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

/**
 * Returns the end of a task whose job has succeeded. The task is completed with the output, or fails if no output can
 * be delivered.
 */
function successOf(observation: Observation, rules: NewsRules): UpstreamEnd {
  const { completedAt, inlineOutputs = [], isText, metadata } = observation;
  const urls = usableUrls(observation, rules);
  if (urls.length > 0 || rules.isAnswerStored === true) {
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
 * Returns the links that a callback may contain. If the relay stores outputs, these include the links by which it finds
 * outputs inside an answer.
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
 * Returns those links to outputs that can be opened without a key. Returns none when they all lead to pictures that
 * only accompany a video.
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
 * Returns the links to the outputs of a job. Returns none when one of them is `contentUrl`, the link to a file that may
 * not exist: only a request to this link can show whether it does.
 */
export function provenUrls({ urls, contentUrl = null }: Observation): readonly string[] {
  return contentUrl !== null && urls.includes(contentUrl) ? [] : urls;
}

/**
 * Returns an object with the member `progress`: the progress that a report states, as a whole number from 0 to 100. The
 * object is empty when the report states no progress.
 */
export function progressIn({ progress = null }: Observation): { readonly progress?: number } {
  if (progress === null || Number.isNaN(progress)) return {};
  return { progress: Math.round(Math.min(Math.max(progress, 0), 100)) };
}

/** Returns a time rounded to whole milliseconds. Null when there is none, or when it is out of range. */
function timeOf(ms: number | null): number | null {
  return ms === null || !(ms >= 0 && ms <= MAX_TIME_MS) ? null : Math.round(ms);
}

/**
 * Returns the ratio and the resolution of the output. A provider may write a size in pixels into either field; each
 * value is then derived from whichever of the two fields shows it.
 */
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
