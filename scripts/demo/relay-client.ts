/** A client of the demo's relay with the operator's key. */
export interface RelayClient {
  readonly text: (path: string) => Promise<string>;
  /** Requests a path until the answer matches `wanted`, and returns this answer. @throws after about 20 s. */
  readonly textUntil: (path: string, wanted: RegExp) => Promise<string>;
  readonly post: <T>(path: string, body: object) => Promise<T>;
  /** Submits a job through the relay. Returns the upstream's answer and the id of the task. */
  readonly submit: (
    path: string,
    body: object,
    headers: Readonly<Record<string, string>>,
  ) => Promise<Submitted>;
  /** Reads a task until its JSON matches `wanted`, and returns the task. @throws after about 20 s. */
  readonly until: (id: string, wanted: RegExp) => Promise<unknown>;
}

interface Submitted {
  /** Id of the task that the relay has registered for the job. */
  readonly id: string;
  readonly answer: unknown;
}

const LOOK_EVERY_MS = 100;
const MAX_LOOKS = 200;

export function relayClient(origin: string, operatorKey: string): RelayClient {
  const ask = async (path: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${operatorKey}`);
    const response = await fetch(origin + path, { ...init, headers });
    const text = await response.text();
    if (response.ok) return { text, headers: response.headers };
    throw new Error(`${path} answered ${response.status}: ${text}`);
  };
  const call = async (path: string, init: RequestInit) => (await ask(path, init)).text;
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
    submit: async (path, body, headers) => {
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const answered = await ask(path, init);
      const id = answered.headers.get("Relay-Task-Id");
      if (id === null) throw new Error(`${path} answered without Relay-Task-Id`);
      return { id, answer: JSON.parse(answered.text) };
    },
    until: async (id, wanted) => JSON.parse(await textUntil(`/v1/tasks/${id}`, wanted)),
  };
}
