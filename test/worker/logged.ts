import { vi } from "vitest";

/** Returns the lines that the relay logs while a function runs, without the id of the version. */
export async function loggedBy(work: () => Promise<unknown>): Promise<readonly object[]> {
  const lines: object[] = [];
  for (const level of ["log", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((text) => {
      const { version: _, ...line } = JSON.parse(String(text));
      lines.push(line);
    });
  }
  await work();
  return lines;
}
