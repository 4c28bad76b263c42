import type { Bug } from "./bug.ts";
import { CALLBACK_BUGS } from "./callback-bugs.ts";
import { CREDIT_BUGS } from "./credit-bugs.ts";
import { END_BUGS } from "./end-bugs.ts";
import { LOOP_BUGS } from "./loop-bugs.ts";
import { OUTBOX_BUGS } from "./outbox-bugs.ts";
import { TRACKING_BUGS } from "./tracking-bugs.ts";

export const BUGS: readonly Bug[] = [
  ...LOOP_BUGS,
  ...CALLBACK_BUGS,
  ...END_BUGS,
  ...CREDIT_BUGS,
  ...OUTBOX_BUGS,
  ...TRACKING_BUGS,
];
