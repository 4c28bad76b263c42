export type Phase = "queued" | "processing" | "completed" | "failed";

/** Job states of all providers by phase, in lower case. Two generations of one API may differ. */
const STATES: Readonly<Record<Phase, string>> = {
  queued:
    "queued submitted pending preparing queueing queuing waiting created starting staged in_queue throttled",
  processing: "processing running in_progress dreaming generating suspended",
  completed: "completed succeeded succeed success ok",
  failed: "failed fail failure error expired cancelled canceled aborted timeout deleted",
};

const PHASES: ReadonlyMap<string, Phase> = new Map(
  (["queued", "processing", "completed", "failed"] as const).flatMap((phase) =>
    STATES[phase].split(" ").map((state) => [state, phase] as const),
  ),
);

/** Returns the phase of a provider's job state, in upper or lower case; null when the state is unknown. */
export function phaseOf(state: string | null): Phase | null {
  return PHASES.get((state ?? "").toLowerCase()) ?? null;
}
