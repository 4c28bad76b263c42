import { join } from "node:path";
import { bugsIn } from "../bug-list.ts";

/** The parts of `src` outside the core that have planted bugs, each listed in a file of this folder. */
export const PARTS = ["api", "objects", "outbound", "console", "cron"] as const;

/** The bugs of a part that its tests must notice. */
export function bugsOf(part: (typeof PARTS)[number]) {
  return bugsIn(join(import.meta.dirname, `${part}.txt`));
}
