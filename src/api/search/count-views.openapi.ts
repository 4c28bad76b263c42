import * as z from "zod/mini";
import { Count, described } from "../shapes/described.ts";

export const Ratio = z.nullable(z.number());

export const TaskCounts = z.strictObject({
  total: Count,
  pending: Count,
  processing: Count,
  completed: Count,
  failed: Count,
  failures: described(
    z.record(z.string(), Count),
    "Failed tasks by category of the failure, as `failure` of a task has it; `unknown`: without one. Others are 0.",
  ),
});

export const CreditCounts = described(
  z.strictObject({ held: Count, earned: Count, released: Count, refunded: Count }),
  "Credits that were charged for these tasks: those of open tasks and those that are being given back (`held`), those that completed tasks cost (`earned`), and those that were given back because a completed task costs less (`released`) or a task failed (`refunded`).",
);

export const CALLBACK_COUNTS = {
  waiting: Count,
  sending: Count,
  retrying: Count,
  paused: described(Count, "Callbacks that rest because their receiver's host is paused."),
  delivered: Count,
  failed: Count,
  attempts: Count,
};
