import * as z from "zod";
import { fillRegions } from "./regions.ts";

/** The builds at which figures were measured (`docs/measured.json`), by the names of the figures. */
export type Builds = z.output<typeof Builds>;
export const Builds = z.record(
  z.string(),
  z.strictObject({
    commit: z.string().regex(/^[\da-f]{40}$/),
    /** Hash of the core, the loop and the simulation of that build. */
    hash: z.string().regex(/^[\da-f]{16}$/),
  }),
);

const SHOWN_DIGITS = 7;

/** Returns a sentence about each build: which figures were measured at it, and whether the core or the simulation has changed since. */
function sentences(builds: Builds, present: string) {
  const groups = Map.groupBy(Object.entries(builds), ([, { commit }]) => commit);
  return Array.from(groups, ([commit, group]) => {
    const names = group.map(([name]) => name).join(", ");
    const hash = group[0]?.[1].hash ?? "";
    const since =
      hash === present
        ? ", with the present core and simulation"
        : "; the core or the simulation has changed since";
    const at = commit.slice(0, SHOWN_DIGITS);
    return { hash, sentence: `Figures of ${names}: measured at ${at}${since}.` };
  });
}

/** Returns `docs/promises.md` with the builds of its figures. */
export function promisesDoc(page: string, builds: Builds, present: string): string {
  const lines = sentences(builds, present).map(
    ({ hash, sentence }) => `- ${sentence} Hash \`${hash}\`.`,
  );
  return fillRegions(page, { measured: lines.join("\n") });
}
