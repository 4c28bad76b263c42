import { DurableObject } from "cloudflare:workers";
import * as z from "zod/mini";
import { parseJson } from "../../core/json.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { type AttemptResult, unansweredAttempt } from "../../core/record/callback.ts";
import type { UnreachableCause } from "../../core/record/outcome.ts";
import { LISTEN_URL } from "../../core/url.ts";
import { type PostRequest, resultOf } from "../../outbound/http.ts";
import { withinTime } from "../../lib/timeout.ts";

/**
 * Headers and body of a callback that a listener (a program that gets callbacks over a WebSocket) passes on to its
 * receiver. The body is a text and not a JSON value, because the signature in the headers covers every character of it.
 */
export type ListenerCallback = Pick<PostRequest, "headers" | "body">;

/**
 * Largest number of listeners of an account. When one more connects, the listener that has sent nothing for the longest
 * time is disconnected.
 */
const MAX_LISTENERS = 10;
/**
 * Time in milliseconds without a ping after which the relay treats a listener as disconnected, because the network does
 * not always report the end of a connection. Listeners send a ping every 20 s (client/src/listen/session.ts).
 */
const MAX_SILENCE_MS = MINUTE_MS;
/**
 * Largest length in characters of a message from a listener. It is enough for 4 KiB of a receiver's answer as JSON, and
 * for the headers of that answer.
 */
const MAX_MESSAGE_CHARS = 32_768;
/**
 * Code with which the relay closes a WebSocket when the program at the other end should not connect again, because a
 * new connection would not help (RFC 6455).
 */
const POLICY_VIOLATION = 1008;
/**
 * Code with which the relay closes a WebSocket over which nothing has come for too long (RFC 6455). A program that
 * receives this code may connect again.
 */
const GOING_AWAY = 1001;

/**
 * Schema of the headers of a receiver's answer that a listener passes back. It permits only the headers that the relay
 * stores (outbound/http.ts), with characters that `Headers` accepts.
 */
const AnswerHeaders = z.partialRecord(
  z.enum(["content-type", "retry-after", "location"]),
  z.string().check(z.regex(/^[ -~]*$/)),
);
/** HTTP statuses of answers that have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];
/**
 * Schema of a message from a listener: either the answer of the HTTP receiver to which the listener has passed a
 * callback on, or the reason why this receiver could not be reached.
 */
const Answer = z.union([
  z.object({
    id: z.string(),
    status: z.int().check(z.gte(200), z.lte(599)),
    headers: AnswerHeaders,
    body: z.string(),
  }),
  z.object({ id: z.string(), cause: z.enum(["refused", "tls", "dns", "other"]) }),
]);

/** A callback that was sent to the listeners of an account and that none of them has answered yet. */
interface Waiting {
  /** WebSockets of the programs to which the callback was sent and that may still answer it. */
  readonly sockets: Set<WebSocket>;
  readonly resolve: (result: AttemptResult) => void;
}

/**
 * Durable Object with the WebSockets of an account's listeners, named after the account (binding `LISTENERS`). A
 * listener is a program that receives the account's callbacks over a WebSocket and passes each on to an HTTP receiver
 * that it can reach.
 *
 * Stores only, for each WebSocket, the time at which it was opened. While the object is not in memory, the platform
 * keeps the WebSockets open, and answers `ping` with `pong` for the object.
 *
 * Called when a listener connects (`api/callbacks/listen.ts`), for each attempt of a callback and each test callback to
 * `listen:` (send-to-listeners.ts), and when a key or the account is deleted (`api/accounts/key-storage.ts`).
 */
export class ListenersObject extends DurableObject<object> {
  /**
   * Callbacks that were sent over WebSockets and not answered yet, by the ids of their messages. While there are any,
   * the object stays in memory.
   */
  readonly #waiting = new Map<string, Waiting>();

  /**
   * Accepts the WebSocket of one more listener, and sends it the name of its account. The header `Key-Name` contains
   * the name of the API key with which the listener connects.
   */
  override async fetch({ headers }: Request): Promise<Response> {
    for (const displaced of this.#connected().slice(MAX_LISTENERS - 1)) {
      displaced.close(POLICY_VIOLATION, `An account has at most ${MAX_LISTENERS} listeners.`);
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.ctx.acceptWebSocket(server, [headers.get("Key-Name") ?? ""]);
    server.serializeAttachment(Date.now());
    server.send(JSON.stringify({ account: this.ctx.id.name }));
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Sends a callback to all listeners of the account, and returns the first answer of a receiver that a listener passes
   * back. A listener that cannot reach its receiver, or whose connection ends, makes the attempt fail only if no other
   * listener can still answer.
   */
  async sendToListeners(callback: ListenerCallback, timeoutMs: number): Promise<AttemptResult> {
    const id = crypto.randomUUID();
    const text = JSON.stringify({ id, timeout_ms: timeoutMs, ...callback });
    const sockets = this.#connected().filter((socket) => isSent(socket, text));
    if (sockets.length === 0) return unansweredAttempt("unreachable", "no_listener");
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    this.#waiting.set(id, { sockets: new Set(sockets), resolve });
    try {
      return await withinTime(() => promise, unansweredAttempt("timeout"), timeoutMs);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /**
   * Disconnects the listeners that use a revoked API key, or all of them when the account was deleted.
   * @param key name of the API key; null disconnects all listeners.
   */
  closeListeners(key: string | null): void {
    for (const socket of this.ctx.getWebSockets(key ?? undefined)) {
      socket.close(POLICY_VIOLATION, "The key was revoked, or the account deleted.");
    }
  }

  /**
   * Handles a message that a listener has sent over its WebSocket. The message is ignored when it is not an answer to a
   * callback, or when the callback no longer waits for an answer.
   */
  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
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

  /** Handles the end of a listener's WebSocket. A callback fails when only this listener could still answer it. */
  override async webSocketClose(socket: WebSocket): Promise<void> {
    this.#lose(socket);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#lose(socket);
  }

  #lose(socket: WebSocket): void {
    for (const waiting of this.#waiting.values()) lose(waiting, socket, "other");
  }

  /**
   * Returns the open WebSockets, sorted by the time at which something last came over each, the latest first, and
   * closes those over which nothing has come for too long. The platform also lists a WebSocket that this object has
   * closed, until the listener has answered the close; such a WebSocket is not returned.
   */
  #connected(): WebSocket[] {
    const open = this.ctx
      .getWebSockets()
      .filter(({ readyState }) => readyState === WebSocket.READY_STATE_OPEN)
      .map((socket) => ({ socket, heardAt: this.#heardAt(socket) }))
      .toSorted((a, b) => b.heardAt - a.heardAt);
    const heardSince = Date.now() - MAX_SILENCE_MS;
    for (const { socket, heardAt } of open) {
      if (heardAt <= heardSince) socket.close(GOING_AWAY, "The listener has not pinged for 60 s.");
    }
    return open.filter(({ heardAt }) => heardAt > heardSince).map(({ socket }) => socket);
  }

  /**
   * Returns the time of the last ping over a WebSocket, in Unix milliseconds. Without a ping it is the time at which
   * the WebSocket was opened.
   */
  #heardAt(socket: WebSocket): number {
    const connectedAt: unknown = socket.deserializeAttachment();
    const pingedAt = this.ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0;
    return Math.max(typeof connectedAt === "number" ? connectedAt : 0, pingedAt);
  }
}

/**
 * Sends a message over a WebSocket.
 * @returns false when the connection has just ended, so that the message was not sent.
 */
function isSent(socket: WebSocket, text: string): boolean {
  try {
    socket.send(text);
    return true;
  } catch {
    return false;
  }
}

/** Remembers that a listener will not answer a callback, which fails when no other listener can still answer it. */
function lose({ sockets, resolve }: Waiting, socket: WebSocket, cause: UnreachableCause): void {
  if (!sockets.delete(socket) || sockets.size > 0) return;
  resolve(unansweredAttempt("unreachable", cause));
}
