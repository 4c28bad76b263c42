import { DurableObject } from "cloudflare:workers";
import type { AttemptResult } from "../core/record/callback.ts";
import { Listeners, type ListenerCallback } from "./listeners.ts";

/**
 * Methods of `AccountObject` for the WebSockets of an account's listeners, programs that receive its
 * callbacks. The work is done by listeners.ts.
 */
export abstract class ListenMethods extends DurableObject<object> {
  #listeners: Listeners | null = null;

  /** Accepts the WebSocket of a listener; the header `Key-Name` has the name of its API key. */
  override async fetch({ headers }: Request): Promise<Response> {
    return this.#connected.accept(headers.get("Key-Name") ?? "");
  }

  /**
   * Sends a callback to the account's listeners, and returns the first answer of a receiver that one of them
   * passes back; see `Listeners.send`.
   */
  async sendToListeners(callback: ListenerCallback, timeoutMs: number): Promise<AttemptResult> {
    return this.#connected.send(callback, timeoutMs);
  }

  /** Disconnects the listeners that have connected with an API key. @param key name of the key; null disconnects all. */
  async closeListeners(key: string | null): Promise<void> {
    this.#connected.close(key);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.#connected.take(socket, message);
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    this.#connected.lose(socket);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#connected.lose(socket);
  }

  /** The listeners of this account; most objects of this class never have any. */
  get #connected(): Listeners {
    return (this.#listeners ??= new Listeners(this.ctx));
  }
}
