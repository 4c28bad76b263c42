import * as z from "zod";

/** A CPU profile as the inspector returns it; times in microseconds. */
export type Profile = z.infer<typeof Profile>;
export const Profile = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), lineNumber: z.int() }),
      children: z.array(z.int()).optional(),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.int()),
});

const MARKER = /^\/\/ ((?:src|node_modules|bench)\/\S+)$/;
/** Names of the nodes of a profile that stand for work of the platform itself, in no function. */
const PLATFORM = new Set(["(program)", "(garbage collector)"]);
/** Names of the nodes of a profile that take no CPU time. */
const NO_WORK = new Set(["(idle)", "(root)"]);

/**
 * Adds up the CPU time of a profile by source file, in microseconds. The time in a function of the platform,
 * such as a write to the storage, counts for the file that called it.
 * @param script text of the profiled bundle, in which a comment names the source file of each part.
 */
export function timeByFile(profile: Profile, script: string): ReadonlyMap<string, number> {
  const files = filesOf(script);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const fileOf = (id: number): string | null => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = nodes.get(at)?.callFrame;
      if (frame === undefined || NO_WORK.has(frame.functionName)) break;
      if (PLATFORM.has(frame.functionName)) return frame.functionName;
      const file = files[frame.lineNumber];
      if (file !== undefined) return file;
    }
    return NO_WORK.has(nodes.get(id)?.callFrame.functionName ?? "") ? null : "(platform)";
  };
  const times = new Map<string, number>();
  for (const [i, id] of profile.samples.entries()) {
    const file = fileOf(id);
    if (file !== null) times.set(file, (times.get(file) ?? 0) + (profile.timeDeltas[i] ?? 0));
  }
  return times;
}

/** Returns the source file of each line of a bundle, counted from 0; undefined before the first file. */
function filesOf(script: string): readonly (string | undefined)[] {
  let file: string | undefined;
  return script.split("\n").map((line) => (file = MARKER.exec(line)?.[1] ?? file));
}

const PACKAGE = /^node_modules\/((?:@[^/]+\/)?[^/]+)/;
const FOLDER = /^(src\/[^/]+)\//;

/** Returns the part of the program to which a source file belongs: a package, a folder of `src`, or itself. */
export function partOf(file: string): string {
  return PACKAGE.exec(file)?.[1] ?? FOLDER.exec(file)?.[1] ?? file;
}

/** Adds up the times of all keys that get the same name, and sorts the names by time, the longest first. */
export function grouped(
  times: ReadonlyMap<string, number>,
  nameOf: (key: string) => string,
): readonly (readonly [name: string, us: number])[] {
  const sums = new Map<string, number>();
  for (const [key, us] of times) sums.set(nameOf(key), (sums.get(nameOf(key)) ?? 0) + us);
  return [...sums].toSorted(([, a], [, b]) => b - a);
}
