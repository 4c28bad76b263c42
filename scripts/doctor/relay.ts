import { parseJson } from "../../src/core/json.ts";

/** An answer to a request of `npm run doctor`, given by the relay or by a service in front of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Body as JSON; undefined when the body is not JSON. */
  readonly json: unknown;
  /**
   * Time half-way between the request and the start of its answer, in Unix milliseconds, with which the
   * relay's clock is compared.
   */
  readonly at: number;
}

/** Error for a request of `npm run doctor` that got no answer; its message states the reason. */
export class NoAnswer extends Error {}

/** Time limit for a request in milliseconds, longer than the relay takes for the slowest test callback. */
const TIMEOUT_MS = 40_000;

/** The relay that `npm run doctor` examines, reached over HTTP. */
export class Relay {
  readonly origin: string;
  readonly #key: string | null;

  constructor(origin: string, key: string | null) {
    this.origin = origin;
    this.#key = key;
  }

  get hasKey(): boolean {
    return this.#key !== null;
  }

  /**
   * Sends a request to the relay with the operator key. A redirect is returned, not followed.
   * @throws NoAnswer
   */
  ask(path: string, body?: object, method: "POST" | "PUT" = "POST"): Promise<Answer> {
    const headers = this.#key === null ? {} : { Authorization: `Bearer ${this.#key}` };
    return this.#send(path, headers, body, method);
  }

  /** Sends a request to the relay without a key, as a provider does. @throws NoAnswer */
  askUnauthenticated(path: string, body: object): Promise<Answer> {
    return this.#send(path, {}, body);
  }

  async #send(
    path: string,
    headers: Record<string, string>,
    body?: object,
    method = "POST",
  ): Promise<Answer> {
    const sent = { method, body: JSON.stringify(body) };
    const aborter = new AbortController();
    const timer = setTimeout(() => aborter.abort(), TIMEOUT_MS);
    const startedAt = Date.now();
    try {
      const response = await fetch(`${this.origin}${path}`, {
        ...(body !== undefined && sent),
        headers: { ...headers, ...(body !== undefined && { "Content-Type": "application/json" }) },
        redirect: "manual",
        signal: aborter.signal,
      });
      const at = (startedAt + Date.now()) / 2;
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: parseJson(text),
        at,
      };
    } catch (error) {
      throw new NoAnswer(aborter.signal.aborted ? "no answer within 40 s" : reasonOf(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Tells whether an answer was given by the relay itself and not by a service in front of it: only the relay's
 * answers have a request id and a JSON body.
 */
export function isOfRelay({ headers, json }: Answer): boolean {
  return headers.has("X-Request-Id") && typeof json === "object" && json !== null;
}

/** Returns the operating system's reason of a failed connection, e.g. ECONNREFUSED. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the connection failed";
  const { cause } = error;
  if (cause instanceof Error) {
    return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
  }
  return error.message;
}
