import { describe, expect, it } from "vitest";
import { minimax } from "../../src/providers/minimax.ts";

const preflight = minimax.hooks?.preflight;

describe("the handshake of MiniMax", () => {
  it("is answered with the same challenge, as JSON", () => {
    expect(preflight?.({ challenge: 'a "quoted" ü' })).toBe('{"challenge":"a \\"quoted\\" ü"}');
  });

  it("echoes nothing but the challenge", () => {
    expect(preflight?.({ challenge: "abc", task_id: "1" })).toBe('{"challenge":"abc"}');
  });

  it("is answered up to 512 characters", () => {
    expect(preflight?.({ challenge: "x".repeat(512) })).toHaveLength(512 + 16);
    expect(preflight?.({ challenge: "x".repeat(513) })).toBeNull();
  });

  it.each([
    [{ task_id: "1", status: "processing" }],
    [{ challenge: 7 }],
    [{ challenge: "" }],
    [{ challenge: { a: 1 } }],
    [["challenge"]],
    ["challenge"],
    [null],
    [undefined],
  ])("is not what %j says", (body) => {
    expect(preflight?.(body)).toBeNull();
  });
});
