/** A callback as the relay sends it to a listener. The receiver gets `headers` and `body` as they are. */
export interface Callback {
  /** Id of this message, which the answer of the listener repeats. */
  readonly id: string;
  /** Time in milliseconds after which the relay no longer waits for the answer. */
  readonly timeout_ms: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** First message of the relay: the account whose callbacks the listener gets. */
interface Greeting {
  readonly account: string;
}

/** Reads a message of the relay; null for a message that this release does not know. */
export function messageOf(data: unknown): Callback | Greeting | null {
  const message = parsed(data);
  if (typeof message !== "object" || message === null) return null;
  if (isCallback(message)) return message;
  return "account" in message && typeof message.account === "string"
    ? { account: message.account }
    : null;
}

function isCallback(message: object): message is Callback {
  return (
    "id" in message &&
    typeof message.id === "string" &&
    "timeout_ms" in message &&
    typeof message.timeout_ms === "number" &&
    "headers" in message &&
    typeof message.headers === "object" &&
    message.headers !== null &&
    "body" in message &&
    typeof message.body === "string"
  );
}

function parsed(data: unknown): unknown {
  try {
    return JSON.parse(String(data));
  } catch {
    return null;
  }
}
