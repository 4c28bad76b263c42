import { beforeEach } from "vitest";
import { skipWithout } from "./program.ts";
import { CLUSTER_PROGRAMS } from "./relay.ts";

// Setup file of the project `cluster`.
beforeEach(({ skip }) => skipWithout(CLUSTER_PROGRAMS, skip));
