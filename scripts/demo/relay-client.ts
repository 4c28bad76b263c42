/** A client of the demo's relay with the operator's key. */
export interface RelayClient {
  readonly text: (path: string) => Promise<string>;
  /** Requests a path until the answer matches `wanted`, and returns this answer. @throws after about 20 s. */
  readonly textUntil: (path: string, wanted: RegExp) => Promise<string>;
  readonly post: <T>(path: string, body: object) => Promise<T>;
  /** Reads a task until its JSON matches `wanted`, and returns the task. @throws after about 20 s. */
  readonly until: (id: string, wanted: RegExp) => Promise<unknown>;
}

const LOOK_EVERY_MS = 100;
const MAX_LOOKS = 200;

export function relayClient(origin: string, operatorKey: string): RelayClient {
  const call = async (path: string, init: RequestInit): Promise<string> => {
    const headers = { Authorization: `Bearer ${operatorKey}` };
    const response = await fetch(origin + path, { ...init, headers });
    const text = await response.text();
    if (response.ok) return text;
    throw new Error(`${path} answered ${response.status}: ${text}`);
  };
  const textUntil = async (path: string, wanted: RegExp): Promise<string> => {
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const text = await call(path, {});
      if (wanted.test(text)) return text;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    throw new Error(`${path} did not match ${wanted.source} within 20 s`);
  };
  return {
    text: (path) => call(path, {}),
    textUntil,
    post: async (path, body) =>
      JSON.parse(await call(path, { method: "POST", body: JSON.stringify(body) })),
    until: async (id, wanted) => JSON.parse(await textUntil(`/v1/tasks/${id}`, wanted)),
  };
}
