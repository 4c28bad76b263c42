import { phaseOf } from "./phase.ts";

/** Pattern of the names of members in which upstreams write the state of a job, or the event that a hook reports. */
const STATE_NAMES = /^(?:task_?|job_?)?(?:state|status|event|event_?type|type)$/i;
const MAX_DEPTH = 4;
/** Pattern of the words for events which say that a job is running, besides the words for states. */
const AT_WORK = /^(?:progress|update|updated)$/i;

/**
 * Tells whether a hook, in which the adapter has found no state, says that the job is waiting or running. It does when
 * a member whose name is usual for the state or the event contains a word for waiting or running, and no such member
 * contains a word for an end.
 */
export function saysRunning(body: unknown): boolean {
  const said = wordsIn(body, MAX_DEPTH).map(hasEnded);
  return said.includes(false) && !said.includes(true);
}

/**
 * Tells whether a word means that the job has ended (true) or is still waiting or running (false). Null for a word with
 * another meaning.
 */
function hasEnded(word: string): boolean | null {
  // The name of an event has the state at its end, e.g. `video.in_progress`.
  const state = word.split(/[.:/]/).at(-1) ?? "";
  if (AT_WORK.test(state)) return false;
  const phase = phaseOf(state);
  return phase === null ? null : phase === "completed" || phase === "failed";
}

function wordsIn(value: unknown, depth: number): readonly string[] {
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    if (typeof member === "string") return STATE_NAMES.test(name) ? [member] : [];
    return wordsIn(member, depth - 1);
  });
}
