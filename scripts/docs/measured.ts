import * as z from "zod";
import { isSimulated } from "./core-hash.ts";
import { fillRegions } from "./regions.ts";

/** The builds at which figures were measured (`docs/measured.json`), by the names of the figures. */
export type Builds = z.output<typeof Builds>;
export const Builds = z.record(
  z.string(),
  z.strictObject({
    commit: z.string().regex(/^[\da-f]{40}$/),
    /** Hash of the code on which the figure depends, in that build (`core-hash.ts`). */
    hash: z.string().regex(/^[\da-f]{16}$/),
  }),
);

const SHOWN_DIGITS = 7;

/** Returns a sentence about each build: which figures were measured at it, and whether their code has changed since. */
function sentences(builds: Builds, presentHash: (figure: string) => string) {
  const groups = Map.groupBy(Object.keys(builds), (name) => {
    return `${builds[name]?.commit} ${builds[name]?.hash}`;
  });
  return Array.from(groups, ([build, names]) => {
    const [commit = "", hash = ""] = build.split(" ");
    const isSimulation = names.some(isSimulated);
    const isPresent = names.every((name) => presentHash(name) === hash);
    const present = isSimulation ? "core and simulation" : "core";
    const changed = isSimulation ? "the core or the simulation" : "the core";
    const since = isPresent ? `, with the present ${present}` : `; ${changed} has changed since`;
    const at = commit.slice(0, SHOWN_DIGITS);
    return { hash, sentence: `Figures of ${names.join(", ")}: measured at ${at}${since}.` };
  });
}

/** Returns `docs/promises.md` with the builds of its figures. */
export function promisesDoc(
  page: string,
  builds: Builds,
  presentHash: (figure: string) => string,
): string {
  const lines = sentences(builds, presentHash).map(
    ({ hash, sentence }) => `- ${sentence} Hash \`${hash}\`.`,
  );
  return fillRegions(page, { measured: lines.join("\n") });
}
