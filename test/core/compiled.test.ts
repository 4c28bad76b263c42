import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { compiled } from "../../src/core/compiled.ts";

afterEach(() => void vi.unstubAllGlobals());

it("a schema is compiled where the platform permits generating code, and stays as it is elsewhere", () => {
  const schema = z.strictObject({ a: z.number() });
  expect(compiled(schema)).not.toBe(schema);
  vi.stubGlobal("Function", function refuse() {
    throw new EvalError("Code generation from strings disallowed for this context");
  });
  expect(compiled(schema)).toBe(schema);
});
