import * as z from "zod";
import { ACTIVITIES, type Activity, activityOf } from "./activities.ts";

/** A CPU profile as the inspector returns it; times in microseconds. */
export type Profile = z.infer<typeof Profile>;
export const Profile = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.int() }),
      children: z.array(z.int()).optional(),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.int()),
});

/** CPU time of a profile that counts for one function and activity. */
export interface Share {
  readonly activity: Activity;
  /** The function that a rule assigns to the activity; empty for the platform. */
  readonly name: string;
  readonly us: number;
}

const MARKER = /^\/\/ ((?:src|node_modules|bench)\/\S+)$/;
/** URLs of scripts that are not the bundle: those of workerd, and the empty one of code that zod has generated. */
const OUTSIDE = /^$|^[a-z]+-internal:/;
/** Names of the nodes of a profile that take no CPU time. */
const NO_WORK = new Set(["(idle)", "(root)"]);
const OTHER: Activity = "other";
const PLATFORM: Activity = "the platform, outside of any function";
const GARBAGE: Activity = "collect garbage";

/**
 * Divides the CPU time of a profile among activities. The time of a sample counts for the innermost function on its
 * stack that a rule names, so that the time in functions of packages and of the platform, e.g. a write to the storage,
 * counts for what has called them.
 * @param script text of the profiled bundle, in which a comment names the source file of each part.
 */
export function sharesOf(profile: Profile, script: string): readonly Share[] {
  const files = filesOf(script);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const shares = new Map<string, Share>();
  for (const [i, id] of profile.samples.entries()) {
    const found = assigned(stackOf(id));
    if (found === null) continue;
    const key = `${found.activity} ${found.name}`;
    const us = (shares.get(key)?.us ?? 0) + (profile.timeDeltas[i] ?? 0);
    shares.set(key, { ...found, us });
  }
  return [...shares.values()];

  /** Returns the functions of a sample with their source files, the innermost first. */
  function stackOf(leaf: number): readonly Frame[] {
    const frames: Frame[] = [];
    for (let at: number | undefined = leaf; at !== undefined; at = parents.get(at)) {
      const frame = nodes.get(at)?.callFrame;
      if (frame === undefined) continue;
      const file = OUTSIDE.test(frame.url) ? undefined : files[frame.lineNumber];
      frames.push({ name: frame.functionName, file });
    }
    return frames;
  }
}

interface Frame {
  readonly name: string;
  /** Undefined for a function of the platform. */
  readonly file: string | undefined;
}

/** Returns for what the time of a stack counts; null when nothing was done. */
function assigned(stack: readonly Frame[]): Omit<Share, "us"> | null {
  const leaf = stack[0]?.name ?? "";
  if (NO_WORK.has(leaf)) return null;
  if (leaf === "(garbage collector)") return { activity: GARBAGE, name: "" };
  const own = stack.filter(({ file }) => file !== undefined);
  for (const { name, file = "" } of own) {
    const activity = activityOf(file, name);
    if (activity !== null) return { activity, name: shown(name, file) };
  }
  const [first] = own;
  if (first === undefined) return { activity: PLATFORM, name: "" };
  return { activity: OTHER, name: shown(first.name, first.file ?? "") };
}

/** Adds up the time of each activity, in microseconds. */
export function timesOf(shares: readonly Share[]): ReadonlyMap<Activity, number> {
  return new Map(
    ACTIVITIES.map((activity) => {
      const own = shares.filter((share) => share.activity === activity);
      return [activity, own.reduce((sum, { us }) => sum + us, 0)];
    }),
  );
}

/** Returns the source file of each line of a bundle, counted from 0; undefined before the first file. */
function filesOf(script: string): readonly (string | undefined)[] {
  let file: string | undefined;
  return script.split("\n").map((line) => (file = MARKER.exec(line)?.[1] ?? file));
}

function shown(name: string, file: string): string {
  return `${file.split("/").at(-1)} ${name === "" ? "(anonymous)" : name}`;
}
