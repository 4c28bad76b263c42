import { afterAll } from "vitest";

/** Waits for a server that all tests of the file share; it is stopped after the last one. */
export async function forThisFile<T extends AsyncDisposable>(started: Promise<T>): Promise<T> {
  const server = await started;
  afterAll(() => server[Symbol.asyncDispose]());
  return server;
}
