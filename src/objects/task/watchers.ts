/**
 * Largest number of readers for whom one task keeps a WebSocket open. Further readers have to ask for the task from
 * time to time.
 */
const MAX_WATCHERS = 64;

/**
 * The WebSockets over which Workers learn that a task has changed, because their clients wait for changes of it
 * (`?wait=`, streams, pages). The platform keeps the WebSockets open while the object is not in memory, so that
 * watching a task costs nothing while it does not change. Nothing is awaited: a socket that is slow, full or dead
 * delays no work. One of the 64 places for readers becomes free when the Worker closes its socket at the end of the
 * reader's request (api/tasks/task-watch.ts), or when the platform closes it.
 */
export class Watchers {
  readonly #ctx: DurableObjectState;
  /**
   * State of the task that this instance has last sent to all watchers, so that a commit that changes nothing for
   * readers sends nothing. Null when no state was sent, and after a commit at which nobody watched: the next commit
   * then sends the state, even to a watcher that has got the same state already.
   */
  #told: string | null = null;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /**
   * Accepts one more watcher, i.e. a Worker that waits for changes of the task, and sends it the present state.
   * @returns an answer with the status 101 and the WebSocket; one with 503 when the task has `MAX_WATCHERS` already.
   */
  accept(state: string): Response {
    if (this.#open().length >= MAX_WATCHERS) return new Response(null, { status: 503 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server);
    server.send(state);
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Sends the state of the task to all watchers, unless they have it already. The platform delays what an object sends
   * until all that the object has written before is stored, so that nobody gets a state that a crash could undo.
   * @param stateNow returns the state. It is called only when somebody watches.
   */
  tell(stateNow: () => string): void {
    const sockets = this.#open();
    const state = sockets.length === 0 ? null : stateNow();
    if (state === this.#told) return;
    this.#told = state;
    if (state === null) return;
    for (const socket of sockets) {
      try {
        socket.send(state);
      } catch {
        // The Worker has closed this socket, and the platform has not told so yet.
      }
    }
  }

  /**
   * Returns the open WebSockets of the watchers, i.e. of Workers that wait for changes of the task. The platform also
   * lists WebSockets that are being closed; these are not returned and do not count.
   */
  #open(): readonly WebSocket[] {
    return this.#ctx
      .getWebSockets()
      .filter(({ readyState }) => readyState === WebSocket.READY_STATE_OPEN);
  }
}
