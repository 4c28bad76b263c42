export type Phase = "queued" | "processing" | "completed" | "failed";

/**
 * Words for the states of jobs, as providers write them (in lower case, with `_` for a space), by their meaning for the
 * relay: queued, processing, completed or failed.
 */
const STATES: Readonly<Record<Phase, string>> = {
  queued:
    "queued submitted pending preparing queueing queuing waiting created starting staged in_queue inqueue throttled " +
    "not_start notstart unknown",
  processing: "processing running in_progress inprogress dreaming generating reasoning suspended",
  completed: "completed complete succeeded succeed success ok finished done ready",
  failed:
    "failed fail failure error expired cancelled canceled aborted timeout deleted incomplete budget_exceeded " +
    "request_moderated content_moderated sensitive_word_error create_task_failed generate_audio_failed " +
    "generate_failed nsfw",
};

const PHASES: ReadonlyMap<string, Phase> = new Map(
  (["queued", "processing", "completed", "failed"] as const).flatMap((phase) =>
    STATES[phase].split(" ").map((state) => [state, phase] as const),
  ),
);

/**
 * Returns the meaning of a provider's state of a job: queued, processing, completed or failed. Upper and lower case
 * count as the same, and so do a space and `_`. Null when the relay does not know the state.
 */
export function phaseOf(state: string | null): Phase | null {
  return PHASES.get(spelling(state ?? "")) ?? null;
}

/**
 * Returns a word for a state in lower case and with `_` for a space, so that two spellings of the same word are equal.
 */
export function spelling(word: string): string {
  return word.toLowerCase().replaceAll(" ", "_");
}
