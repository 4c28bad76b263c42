import { describe } from "vitest";
import { useClock } from "../clock.ts";
import { CASES, testHooks } from "../hook-cases.ts";

useClock();

describe.each(CASES)("$name", testHooks);
