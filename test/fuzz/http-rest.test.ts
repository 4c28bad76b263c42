import { describe, vi } from "vitest";
import { requests } from "./answers.ts";
import { announce, fuzz } from "./fuzz.ts";

// The platform's base class; the objects themselves are the relay's own.
vi.mock("cloudflare:workers", () => ({
  DurableObject: class {
    readonly ctx: unknown;
    readonly env: unknown;

    constructor(ctx: unknown, env: unknown) {
      this.ctx = ctx;
      this.env = env;
    }
  },
}));

announce("requests about all else");

describe("requests about all else", () => {
  fuzz(
    requests(
      "never fail, are refused with a code, and change nothing when refused",
      20_000,
      (path) => !/^\/(?:v1\/tasks|v1\/events|hooks)/.test(path),
    ),
  );
});
