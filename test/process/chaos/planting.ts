import type { Post } from "../harness/receiver.ts";
import type { Counters } from "./counters.ts";
import type { Judge } from "./scenario.ts";
import type { Witnessed } from "./witnessed.ts";

/** Returns a recording with a fault; null when it has nothing in which the fault can be planted. */
export type Plant<Recording> = (recording: Recording) => Recording | null;

/** A fault that is planted into a recording. */
export interface PlantedFault<Recording> {
  readonly what: string;
  /** Text that the faults must contain then. */
  readonly fault: string;
  readonly plant: Plant<Recording>;
  /** True where a recording may have no place for the fault, because rounds of another kind always have; false by default. */
  readonly mayLackPlace?: boolean;
}

/** A recording with a part for each task or order. */
interface InParts<Part> {
  readonly evidence: readonly Part[];
}

/** Changes the first part of a recording for which `change` returns another one. */
export function inOne<Part, Recording extends InParts<Part>>(
  change: (part: Part) => Part | null,
): Plant<Recording> {
  return (recording) => {
    for (const [i, each] of recording.evidence.entries()) {
      const changed = change(each);
      if (changed !== null) return { ...recording, evidence: recording.evidence.with(i, changed) };
    }
    return null;
  };
}

/** Replaces the posts of the first part that is meant; what replaces them counts as signed, so that only other checks notice. */
export function inPostsOf<
  Part extends { readonly posts: readonly Post[] },
  Recording extends InParts<Part> & Pick<Witnessed, "genuine">,
>(
  isMeant: (part: Part) => boolean,
  change: (posts: readonly Post[]) => readonly Post[],
): Plant<Recording> {
  const inPart = inOne<Part, Recording>((part) =>
    isMeant(part) ? { ...part, posts: change(part.posts) } : null,
  );
  return (recording) => {
    const changed = inPart(recording);
    if (changed === null) return null;
    const posts = changed.evidence.flatMap((part) => part.posts);
    return { ...changed, genuine: new Set([...changed.genuine, ...posts]) };
  };
}

/** Faults that are planted into the recordings of all scenarios with callbacks, posts and the log of the relay. */
export function plantedInAll<Recording extends Witnessed>(): readonly PlantedFault<Recording>[] {
  return [
    {
      what: "a callback whose signature is not valid",
      fault: "a callback that does not verify",
      plant: (recording) =>
        recording.genuine.size === 0
          ? null
          : { ...recording, genuine: new Set([...recording.genuine].slice(1)) },
    },
    {
      what: "a callback to an address that nobody has named",
      fault: "a POST to /planted",
      plant: (recording) => ({ ...recording, strangePaths: ["/planted"] }),
    },
    {
      what: "a log line that says that a task's work loop has failed",
      fault: "loop.failed",
      plant: (recording) => ({ ...recording, log: `${recording.log}\n{"event":"loop.failed"}\n` }),
    },
  ];
}

/**
 * Plants each fault into a copy of a recording without faults, and counts for each the recordings with a place for it.
 * @returns the faults that the checks do not notice.
 */
export function unnoticedFaults<Recording>(
  { faultsIn, planted }: Judge<Recording>,
  recording: Recording,
  counters: Counters,
): readonly string[] {
  return planted.flatMap(({ what, fault, plant }) => {
    const changed = plant(recording);
    if (changed === null) return [];
    counters.add(placesFor(what));
    const isNoticed = faultsIn(changed).some((text) => text.includes(fault));
    return isNoticed ? [] : [`the checks do not notice: ${what}`];
  });
}

/** Returns the smallest figures with which each fault that must have a place has been planted. */
export function leastPlaces(
  planted: readonly Pick<PlantedFault<unknown>, "what" | "mayLackPlace">[],
): Readonly<Record<string, number>> {
  const needed = planted.filter(({ mayLackPlace = false }) => !mayLackPlace);
  return Object.fromEntries(needed.map(({ what }) => [placesFor(what), 1]));
}

/** Returns the name of the figure that counts the recordings with a place for a planted fault. */
function placesFor(what: string): string {
  return `planted: ${what}`;
}
