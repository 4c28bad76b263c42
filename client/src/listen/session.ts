import { type Callback, messageOf } from "./messages.ts";

/** The end of a connection to the relay, with its reason. */
export interface End {
  /** True when the relay had greeted the listener. */
  readonly wasConnected: boolean;
  /** Reason that the relay gave, or a general one, e.g. "the connection ended". */
  readonly reason: string;
  /** True when the relay has ended the connection for good, e.g. because the key was revoked. */
  readonly isFinal: boolean;
}

interface Handlers {
  readonly onConnected: (account: string) => void;
  /** Passes a callback on to the receiver, and returns the answer to send to the relay. */
  readonly onCallback: (callback: Callback) => Promise<object>;
}

/** Code with which the relay closes a connection that must not be made again (RFC 6455). */
const POLICY_VIOLATION = 1008;
/**
 * Time between two pings in milliseconds. The relay answers each ping; a connection without an answer until the
 * next ping counts as dead.
 */
const PING_EVERY_MS = 20_000;

/** One WebSocket connection of a listener to the relay. */
export class Session {
  readonly #socket: WebSocket;
  readonly #handlers: Handlers;
  readonly #timer: ReturnType<typeof setInterval>;
  #resolve: (end: End) => void = () => {};
  #isConnected = false;
  #isHeard = true;
  #isEnded = false;
  /** Promise that resolves when the connection has ended, or when no connection could be made. */
  readonly ended = new Promise<End>((resolve) => (this.#resolve = resolve));

  constructor(relay: string, key: string, handlers: Handlers) {
    this.#handlers = handlers;
    const url = `${relay.replace(/^http/, "ws")}/v1/listen`;
    this.#socket = new WebSocket(url, { headers: { Authorization: `Bearer ${key}` } });
    this.#socket.addEventListener("message", ({ data }) => void this.#take(data));
    this.#socket.addEventListener("error", () => this.#end("the connection failed"));
    this.#socket.addEventListener("close", ({ code, reason }) =>
      this.#end(reason || "the connection ended", code === POLICY_VIOLATION),
    );
    this.#timer = setInterval(() => this.#ping(), PING_EVERY_MS);
  }

  close(): void {
    this.#end("stopped");
  }

  async #take(data: unknown): Promise<void> {
    this.#isHeard = true;
    const message = messageOf(data);
    if (message === null) return;
    if ("account" in message) {
      this.#isConnected = true;
      this.#handlers.onConnected(message.account);
      return;
    }
    const answer = await this.#handlers.onCallback(message);
    this.#send(JSON.stringify({ id: message.id, ...answer }));
  }

  #ping(): void {
    if (!this.#isHeard) return this.#end("the relay no longer answers");
    this.#isHeard = false;
    this.#send("ping");
  }

  /**
   * Sends a message. Sends nothing when the connection has ended, because the relay then no longer waits for an
   * answer.
   */
  #send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  #end(reason: string, isFinal = false): void {
    // In Node 22, closing a socket that has failed is another failure of it.
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#socket.close();
    this.#resolve({ wasConnected: this.#isConnected, reason, isFinal });
  }
}
