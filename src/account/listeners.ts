import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { type AttemptResult, unansweredAttempt } from "../core/record/callback.ts";
import type { UnreachableCause } from "../core/record/outcome.ts";
import { LISTEN_URL } from "../core/url.ts";
import { type PostRequest, resultOf } from "../outbound/http.ts";
import { withinTime } from "../timeout.ts";

/** Headers and body of a callback, as texts that no one on the way to the receiver parses. */
export type ListenerCallback = Pick<PostRequest, "headers" | "body">;

/** Largest number of listeners of an account; one more takes the place of another one. */
const MAX_LISTENERS = 10;
/** Longest message of a listener in characters: 4 KiB of the receiver's answer as JSON, and its headers. */
const MAX_MESSAGE_CHARS = 32_768;
/** Code with which a WebSocket is closed for a reason that connecting again does not remove (RFC 6455). */
const POLICY_VIOLATION = 1008;

/** Headers of an answer that are kept (outbound/http.ts), in characters that `Headers` accepts. */
const AnswerHeaders = z.partialRecord(
  z.enum(["content-type", "retry-after", "location"]),
  z.string().check(z.regex(/^[ -~]*$/)),
);
/** Statuses of answers that have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];
/** Message of a listener: what its receiver answered, or why it could not be reached. */
const Answer = z.union([
  z.object({
    id: z.string(),
    status: z.int().check(z.gte(200), z.lte(599)),
    headers: AnswerHeaders,
    body: z.string(),
  }),
  z.object({ id: z.string(), cause: z.enum(["refused", "tls", "dns", "other"]) }),
]);

/** A callback that waits for the answer of a listener. */
interface Waiting {
  /** WebSockets of the listeners that can still answer. */
  readonly sockets: Set<WebSocket>;
  readonly resolve: (result: AttemptResult) => void;
}

/**
 * The listeners of an account: programs that receive callbacks over a WebSocket and pass them on to a receiver
 * near them. The platform keeps the WebSockets while the object is not in memory, and answers `ping` with `pong`
 * for it.
 */
export class Listeners {
  readonly #state: DurableObjectState;
  /** Callbacks that have no answer yet, by the ids of their messages. They keep the object in memory. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(state: DurableObjectState) {
    this.#state = state;
  }

  /** Accepts another listener, and tells it the name of its account. @param key name of its API key. */
  accept(key: string): Response {
    const others = this.#state.getWebSockets();
    if (others.length >= MAX_LISTENERS) {
      others.at(-1)?.close(POLICY_VIOLATION, `An account has at most ${MAX_LISTENERS} listeners.`);
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.#state.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.#state.acceptWebSocket(server, [key]);
    const [, account] = this.#state.id.name?.split(":") ?? [];
    server.send(JSON.stringify({ account }));
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Sends a callback to all listeners. The first answer of a receiver counts; a listener whose receiver cannot
   * be reached, or whose connection ends, counts only when no other one answers.
   */
  async send(callback: ListenerCallback, timeoutMs: number): Promise<AttemptResult> {
    const id = crypto.randomUUID();
    const text = JSON.stringify({ id, timeout_ms: timeoutMs, ...callback });
    const sockets = this.#state.getWebSockets().filter((socket) => isSent(socket, text));
    if (sockets.length === 0) return unansweredAttempt("unreachable", "no_listener");
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    this.#waiting.set(id, { sockets: new Set(sockets), resolve });
    try {
      return await withinTime(() => promise, unansweredAttempt("timeout"), timeoutMs);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Takes a message of a listener; one that is no answer, or whose callback no longer waits, is ignored. */
  async take(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    if (typeof message !== "string" || message.length > MAX_MESSAGE_CHARS) return;
    const answer = Answer.safeParse(parseJson(message)).data;
    const waiting = this.#waiting.get(answer?.id ?? "");
    if (answer === undefined || waiting === undefined) return;
    if ("cause" in answer) return lose(waiting, socket, answer.cause);
    const { status, headers, body } = answer;
    const hasBody = body !== "" && !WITHOUT_BODY.includes(status);
    const response = new Response(hasBody ? body : null, { status, headers });
    waiting.resolve(await resultOf(response, LISTEN_URL));
  }

  /** Handles the end of a listener's connection, which then answers nothing more. */
  lose(socket: WebSocket): void {
    for (const waiting of this.#waiting.values()) lose(waiting, socket, "other");
  }

  /** Disconnects the listeners with an API key that has ended. @param key name of the key; null disconnects all. */
  close(key: string | null): void {
    for (const socket of this.#state.getWebSockets(key ?? undefined)) {
      socket.close(POLICY_VIOLATION, "The key was revoked, or the account deleted.");
    }
  }
}

/** Sends a message. @returns false when the connection has just ended. */
function isSent(socket: WebSocket, text: string): boolean {
  try {
    socket.send(text);
    return true;
  } catch {
    return false;
  }
}

/** Notes that a listener does not answer; the callback has failed when no other one can. */
function lose({ sockets, resolve }: Waiting, socket: WebSocket, cause: UnreachableCause): void {
  if (!sockets.delete(socket) || sockets.size > 0) return;
  resolve(unansweredAttempt("unreachable", cause));
}
