import { afterEach, expect, it, vi } from "vitest";
import { logAs } from "../../src/lib/log.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it('a log line of the level "detail" is built and written only when the variable LOG is all', () => {
  const written = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const line = vi.fn(() => ({ event: "sample" }));
  logAs("detail", line, { logsDetails: false });
  expect([line.mock.calls.length, written.mock.calls.length]).toEqual([0, 0]);
  logAs("detail", line, { logsDetails: true });
  expect(line).toHaveBeenCalledOnce();
  expect(written.mock.calls).toEqual([['{"event":"sample"}']]);
});
