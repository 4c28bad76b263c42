import { expect, it } from "vitest";
import { skipWithout } from "../harness/program.ts";
import { S3_PROGRAM } from "../harness/s3-server.ts";
import { CLUSTER } from "./cluster/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_130);

it("in a cluster of three nodes and of two, while nodes are killed and terminated, the store is slow and frozen and all disks are lost, no accepted task, job or output is lost, nothing is submitted, charged or called back twice, and clients that wait or listen get what they wait for", async ({
  skip,
}) => {
  skipWithout([S3_PROGRAM], skip);
  const { counters, faults } = await runScenario(CLUSTER, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
