import { expect, it } from "vitest";
import { phaseOf } from "../../src/providers/phase.ts";

it.each([
  [
    "queued",
    "queued submitted pending preparing queueing queuing waiting created starting staged in_queue inqueue throttled not_start notstart unknown",
  ],
  ["processing", "running processing in_progress inprogress dreaming generating suspended"],
  ["completed", "succeeded succeed success completed complete ok finished done ready"],
  [
    "failed",
    "failed fail failure error expired cancelled canceled aborted timeout deleted incomplete budget_exceeded request_moderated content_moderated sensitive_word_error create_task_failed generate_audio_failed generate_failed nsfw",
  ],
])(
  "phaseOf returns %s for each of the providers' words for this phase of a job, in lower case with _ and in capitals with spaces",
  (phase, states) => {
    const words = states.split(" ");
    const spellings = words.flatMap((word) => [word, word.toUpperCase().replaceAll("_", " ")]);
    expect(spellings.filter((state) => phaseOf(state) !== phase)).toEqual([]);
  },
);

it.each(["pondering", "not_failed", "not done", "succeeded ", "success!", "constructor", "", null])(
  "phaseOf, which maps a provider's word for the state of a job to a phase, returns null for the unknown word %j",
  (state) => {
    expect(phaseOf(state)).toBeNull();
  },
);
