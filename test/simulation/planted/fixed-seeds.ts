import type { Hunt } from "./mutated-copy.ts";

/** The lives in which every planted bug must be found: up to 5,000 from each of three seeds. */
export const FIXED: Hunt = {
  kind: "task",
  seeds: [20_261_123, 518_204_777, 903_311_046],
  lives: 5_000,
};

/** The same for relays with queues. */
export const FIXED_QUEUES: Hunt = {
  kind: "queues",
  seeds: [20_261_129, 77_120_431, 640_018_202],
  lives: 5_000,
};
