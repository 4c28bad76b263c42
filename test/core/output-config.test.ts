import { describe, expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/output-config.ts";
import { configuredWith } from "./configuration.ts";
import { DAY } from "./builders.ts";

function outputsOf(vars: object): Partial<OutputConfig> {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error("the configuration was refused");
  const { areOutputsKept, outputsOrigin, outputLifeMs, maxOutputBytes } = result.value;
  return { areOutputsKept, outputsOrigin, outputLifeMs, maxOutputBytes };
}

describe("the configuration for outputs", () => {
  it("without any variable for outputs, the relay keeps no copies, has no address for links to outputs, and would let such links work for 7 days", () => {
    expect(outputsOf({})).toEqual({
      areOutputsKept: false,
      outputsOrigin: null,
      outputLifeMs: 3 * DAY,
      maxOutputBytes: 1024 * 1024 * 1024,
    });
  });

  it("the relay keeps copies of outputs when the bucket OUTPUTS is bound", () => {
    expect(outputsOf({ OUTPUTS: { put: () => null } })).toMatchObject({ areOutputsKept: true });
  });

  it("the relay's links to outputs have the address OUTPUTS_URL, and without it PUBLIC_URL", () => {
    const PUBLIC_URL = "https://relay.example.com/";
    const OUTPUTS_URL = "https://outputs.example.com";
    expect(outputsOf({ PUBLIC_URL }).outputsOrigin).toBe("https://relay.example.com");
    expect(outputsOf({ PUBLIC_URL, OUTPUTS_URL }).outputsOrigin).toBe(OUTPUTS_URL);
    expect(outputsOf({ OUTPUTS_URL }).outputsOrigin).toBe(OUTPUTS_URL);
  });

  it.each([
    ["1 day for OUTPUT_DAYS=1", { OUTPUT_DAYS: "1" }, 1],
    ["as long as tasks are kept for OUTPUT_DAYS=28", { OUTPUT_DAYS: 28 }, 28],
    ["2 days when tasks are kept for 2 days", { RETENTION_DAYS: 2 }, 2],
    ["3 days when tasks are kept for 90 days", { RETENTION_DAYS: 90 }, 3],
    ["60 days of 90 for OUTPUT_DAYS=60", { RETENTION_DAYS: 90, OUTPUT_DAYS: 60 }, 60],
  ])("the relay's links to outputs work for %s", (_what, vars, days) => {
    expect(outputsOf(vars).outputLifeMs).toBe(days * DAY);
  });

  it("the configuration is refused when OUTPUT_DAYS is more than RETENTION_DAYS, because a task is erased with its outputs", () => {
    expect(configuredWith({ RETENTION_DAYS: 7, OUTPUT_DAYS: 8 })).toEqual({
      ok: false,
      error: [{ path: "OUTPUT_DAYS", message: "must be at most RETENTION_DAYS" }],
    });
  });
});
