import { inOne, type Plant, type PlantedFault } from "../planting.ts";
import type { OutputEnd } from "./plan.ts";
import { type Evidence, type OpenedLink, OUTPUTS_URL, type Recording } from "./recording.ts";

/** Changes the bodies of the callbacks of the first task. */
const inBodies = (change: (bodies: readonly string[]) => readonly string[]) =>
  inOne<Evidence, Recording>((each) => ({ ...each, bodies: change(each.bodies) }));

/** Changes what the link to the first output with this end has given. */
const inLink = (end: OutputEnd, changes: Partial<OpenedLink>) =>
  inOne<Evidence, Recording>((each) => {
    const at = each.outputs.findIndex((output) => output.end === end);
    const link = each.opened[at];
    if (link === undefined) return null;
    return { ...each, opened: each.opened.with(at, { ...link, ...changes }) };
  });

/** Changes the keys of the copies in the bucket. */
const inKeys =
  (change: (keys: readonly string[]) => readonly string[]): Plant<Recording> =>
  ({ bucket, ...recording }) => ({
    ...recording,
    bucket: { ...bucket, keys: change(bucket.keys) },
  });

const CALLBACKS = "no callback, or several that differ";
const KEPT = "does not open as one that is kept";
const OBJECTS = "the bucket has not exactly one object for each output that is kept";

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  { what: "a task without a callback", fault: CALLBACKS, plant: inBodies(() => []) },
  {
    what: "callbacks with different bodies",
    fault: CALLBACKS,
    plant: inBodies((bodies) => [...bodies, ...bodies.map((body) => `${body} `)]),
  },
  {
    what: "a callback with links of the upstream",
    fault: "other links than the relay's",
    plant: inBodies((bodies) =>
      bodies.map((body) => body.replaceAll(OUTPUTS_URL, "https://upstream.example.com")),
    ),
  },
  { what: "a copy with other bytes", fault: KEPT, plant: inLink("kept", { digest: "" }) },
  {
    what: "a copy of which another part is served",
    fault: KEPT,
    plant: inLink("kept", { tail: "" }),
  },
  {
    what: "a copy that is served whole where a part was asked for",
    fault: KEPT,
    plant: inLink("kept", { partStatus: 200 }),
  },
  {
    what: "a copy of another media type",
    fault: KEPT,
    plant: inLink("kept", { mediaType: "application/octet-stream" }),
  },
  { what: "a copy whose link does not open", fault: KEPT, plant: inLink("kept", { status: 404 }) },
  {
    what: "a deleted output whose link opens",
    fault: "does not open as one that is deleted",
    plant: inLink("deleted", { status: 200 }),
  },
  {
    what: "an output that is too large and answered as deleted",
    fault: "does not open as one that is too_large",
    plant: inLink("too_large", { status: 410 }),
  },
  {
    what: "a copy that is not in the bucket",
    fault: OBJECTS,
    plant: inKeys((keys) => keys.slice(1)),
  },
  {
    what: "a copy that is in the bucket twice",
    fault: OBJECTS,
    plant: inKeys((keys) => [...keys, ...keys.slice(0, 1)]),
  },
  {
    what: "parts of an upload that never ends",
    fault: "the bucket has 1 parts of unfinished uploads",
    plant: ({ bucket, ...recording }) => ({ ...recording, bucket: { ...bucket, parts: 1 } }),
  },
  {
    what: "a copy of an erased task",
    fault: "something of erased tasks is left in the bucket",
    plant: (recording) => ({
      ...recording,
      bucketAfterErasure: { keys: recording.bucket.keys.slice(0, 1), parts: 0 },
    }),
  },
  {
    what: "a link of an erased task that opens",
    fault: "a link of an erased task is answered with 200",
    plant: (recording) => ({ ...recording, statusAfterErasure: 200 }),
  },
];
