import type { CancelAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { Job, UpstreamNews } from "../../src/core/record/upstream.ts";
import { aCompletion } from "../core/builders.ts";
import { anUpstreamFailure, newsAnswer } from "../core/upstream-builders.ts";

/** News of a job that was canceled. */
const CANCELED_NEWS: UpstreamNews = anUpstreamFailure({
  failure: { category: "canceled", retryable: false },
});

/**
 * The jobs of the upstream, as far as calls that cancel them have decided their fate: every other job may still report
 * anything.
 */
export class UpstreamJobs {
  readonly #fates = new Map<string, "canceled" | "ended">();

  /** Cancels a job, unless it has ended. */
  stop({ id }: Job): void {
    if (!this.#fates.has(id)) this.#fates.set(id, "canceled");
  }

  isCanceled({ id }: Job): boolean {
    return this.#fates.get(id) === "canceled";
  }

  hasEnded({ id }: Job): boolean {
    return this.#fates.get(id) === "ended";
  }

  /** Returns a chosen answer to a call that cancels a job as the upstream can give it. A job that it calls ended is so. */
  answerTo({ id }: Job, answer: CancelAnswer): CancelAnswer {
    const isSaid = answer.kind === "canceled" || answer.kind === "accepted";
    if (answer.kind === "ended" && !this.#fates.has(id)) this.#fates.set(id, "ended");
    return isSaid && this.#fates.get(id) === "ended" ? { ...answer, kind: "ended" } : answer;
  }

  /** Returns a chosen answer to a poll as the upstream can give it. */
  truthful({ id }: Job, answer: PollAnswer): PollAnswer {
    const fate = this.#fates.get(id);
    if (answer.kind !== "news" || fate === undefined) return answer;
    if (fate === "canceled") return newsAnswer(CANCELED_NEWS);
    const { status } = answer.news;
    return status === "queued" || status === "processing" ? newsAnswer(aCompletion()) : answer;
  }
}
