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

const s3Of = (vars: object) => {
  const result = configuredWith(vars);
  return result.ok ? result.value.s3 : result.error;
};

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

  const S3 = {
    OUTPUTS_S3_URL: "https://s3.example.net/",
    OUTPUTS_S3_BUCKET: "films",
    OUTPUTS_S3_KEY: "test-only-store-key",
    OUTPUTS_S3_SECRET: "test-only-store-secret",
  };
  it("with OUTPUTS_S3_URL the relay keeps copies of outputs in the bucket of that store, by default in the region us-east-1", () => {
    expect(outputsOf(S3)).toMatchObject({ areOutputsKept: true });
    expect(s3Of(S3)).toEqual({
      url: "https://s3.example.net",
      bucket: "films",
      bucketUrl: "https://s3.example.net/films",
      region: "us-east-1",
      keyId: "test-only-store-key",
      secret: "test-only-store-secret",
    });
    expect(s3Of({ ...S3, OUTPUTS_S3_REGION: "cn-hangzhou" })).toMatchObject({
      region: "cn-hangzhou",
    });
    expect(s3Of({})).toBeNull();
  });

  it.each([
    [
      "https://films.s3.oss-cn-hangzhou.aliyuncs.com",
      "https://films.s3.oss-cn-hangzhou.aliyuncs.com",
    ],
    ["http://10.0.0.5:9000", "http://10.0.0.5:9000/films"],
    ["https://filmstore.example.net", "https://filmstore.example.net/films"],
  ])("the bucket films of the store %s has the URL %s", (OUTPUTS_S3_URL, bucketUrl) => {
    const bound = { ...S3, OUTPUTS_S3_URL, OUTPUTS_S3: { fetch: () => null } };
    expect(s3Of(bound)).toMatchObject({ bucketUrl });
  });

  it.each([
    [
      "the bucket OUTPUTS is bound too",
      { OUTPUTS: {} },
      "OUTPUTS_S3_URL",
      "while the bucket OUTPUTS is bound",
    ],
    [
      "OUTPUTS_S3_URL is missing",
      { OUTPUTS_S3_URL: "" },
      "OUTPUTS_S3_URL",
      "is required with OUTPUTS_S3_BUCKET",
    ],
    [
      "OUTPUTS_S3_BUCKET is missing",
      { OUTPUTS_S3_BUCKET: "" },
      "OUTPUTS_S3_BUCKET",
      "is required with OUTPUTS_S3_URL",
    ],
    [
      "OUTPUTS_S3_KEY is missing",
      { OUTPUTS_S3_KEY: "" },
      "OUTPUTS_S3_KEY",
      "is required with OUTPUTS_S3_URL",
    ],
    [
      "OUTPUTS_S3_SECRET is missing",
      { OUTPUTS_S3_SECRET: "" },
      "OUTPUTS_S3_SECRET",
      "is required with OUTPUTS_S3_URL",
    ],
    [
      "OUTPUTS_S3_URL has a path",
      { OUTPUTS_S3_URL: "https://s3.example.net/films" },
      "OUTPUTS_S3_URL",
      "must not have a path",
    ],
    [
      "OUTPUTS_S3_BUCKET is no name of a bucket",
      { OUTPUTS_S3_BUCKET: "Films/2" },
      "OUTPUTS_S3_BUCKET",
      "must be the name of a bucket",
    ],
    [
      "OUTPUTS_S3_REGION is no name of a region",
      { OUTPUTS_S3_REGION: "eu 1" },
      "OUTPUTS_S3_REGION",
      "must be the name of a region",
    ],
    [
      "OUTPUTS_S3_SECRET has a blank",
      { OUTPUTS_S3_SECRET: "two words" },
      "OUTPUTS_S3_SECRET",
      "must be one secret access key",
    ],
    [
      "OUTPUTS_S3_URL has an IP address, and no binding OUTPUTS_S3 reaches it",
      { OUTPUTS_S3_URL: "http://10.0.0.5:9000" },
      "OUTPUTS_S3_URL",
      "IP address",
    ],
  ])("the configuration is refused when %s", (_, vars, path, message) => {
    expect(s3Of({ ...S3, ...vars })).toEqual([{ path, message: expect.stringContaining(message) }]);
  });
});
