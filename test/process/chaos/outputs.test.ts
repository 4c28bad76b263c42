import { expect, it } from "vitest";
import { skipWithout } from "../harness/program.ts";
import { S3_PROGRAM } from "../harness/s3-server.ts";
import { OUTPUTS, S3_OUTPUTS } from "./outputs/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);

it.for([
  ["", OUTPUTS, []],
  [" from an S3-compatible store", S3_OUTPUTS, [S3_PROGRAM]],
] as const)(
  "although the relay is repeatedly killed with kill -9, the outputs of 300 tasks are each copied once or reported as lost, and erased tasks leave nothing%s",
  { timeout: 1_200_000 },
  async ([, scenario, programs], { skip }) => {
    skipWithout(programs, skip);
    const { counters, faults } = await runScenario(scenario, SEED);
    console.log(`seed ${SEED}\n${counters.toString()}`);
    expect(faults).toEqual([]);
  },
);
