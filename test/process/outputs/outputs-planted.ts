import { faultsIn } from "./outputs-faults.ts";
import { type OpenedLink, OUTPUTS_URL, type Recording } from "./outputs-recording.ts";
import type { OutputEnd } from "./test-tasks.ts";

/** Returns a recording with a planted fault; null when it has nothing in which the fault can be planted. */
type Plant = (recording: Recording) => Recording | null;

/** Changes the bodies of the callbacks of the first task. */
const inBodies =
  (change: (bodies: readonly string[]) => readonly string[]): Plant =>
  ({ evidence: [first, ...others], ...recording }) =>
    first === undefined
      ? null
      : { ...recording, evidence: [{ ...first, bodies: change(first.bodies) }, ...others] };

/** Changes what the link to the first output with this end has given. */
const inLink =
  (end: OutputEnd, changes: Partial<OpenedLink>): Plant =>
  (recording) => {
    for (const [i, each] of recording.evidence.entries()) {
      const at = each.outputs.findIndex((output) => output.end === end);
      const link = each.opened[at];
      if (link === undefined) continue;
      const opened = each.opened.with(at, { ...link, ...changes });
      return { ...recording, evidence: recording.evidence.with(i, { ...each, opened }) };
    }
    return null;
  };

/** Changes the keys of the copies in the bucket. */
const inKeys =
  (change: (keys: readonly string[]) => readonly string[]): Plant =>
  ({ bucket, ...recording }) => ({
    ...recording,
    bucket: { ...bucket, keys: change(bucket.keys) },
  });

const PLANTED_FAULTS: Readonly<Record<string, Plant>> = {
  "a task without a callback": inBodies(() => []),
  "callbacks with different bodies": inBodies((bodies) => [
    ...bodies,
    ...bodies.map((body) => `${body} `),
  ]),
  "a callback with links of the upstream": inBodies((bodies) =>
    bodies.map((body) => body.replaceAll(OUTPUTS_URL, "https://upstream.example.com")),
  ),
  "a copy with other bytes": inLink("kept", { digest: "" }),
  "a copy of which another part is served": inLink("kept", { tail: "" }),
  "a copy that is served whole where a part was asked for": inLink("kept", { partStatus: 200 }),
  "a copy of another media type": inLink("kept", { mediaType: "application/octet-stream" }),
  "a copy whose link does not open": inLink("kept", { status: 404 }),
  "a deleted output whose link opens": inLink("deleted", { status: 200 }),
  "an output that is too large and answered as deleted": inLink("too_large", { status: 410 }),
  "a copy that is not in the bucket": inKeys((keys) => keys.slice(1)),
  "a copy that is in the bucket twice": inKeys((keys) => [...keys, ...keys.slice(0, 1)]),
  "parts of an upload that never ends": ({ bucket, ...recording }) => ({
    ...recording,
    bucket: { ...bucket, parts: 1 },
  }),
  "a copy of an erased task": (recording) => ({
    ...recording,
    bucketAfterErasure: { keys: recording.bucket.keys.slice(0, 1), parts: 0 },
  }),
  "a link of an erased task that opens": (recording) => ({ ...recording, statusAfterErasure: 200 }),
};

/**
 * Plants each fault into a copy of a recording without faults. @returns the faults that the checks do not notice, or for
 * which the recording has no place.
 */
export function unnoticedFaults(recording: Recording): readonly string[] {
  return Object.entries(PLANTED_FAULTS).flatMap(([what, plant]) => {
    const changed = plant(recording);
    if (changed === null) return [`nothing was recorded to plant: ${what}`];
    return faultsIn(changed).length > 0 ? [] : [`the checks do not notice: ${what}`];
  });
}
