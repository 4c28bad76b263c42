import { dataOf } from "../answer.ts";
import { RelayProblem } from "../problem.ts";
import { TaskRelay } from "../relay.ts";
import { sleep } from "../retry.ts";
import { verify } from "../verify.ts";
import type { Callback } from "./messages.ts";
import { type Answer, passOn } from "./receiver.ts";
import { lineOf, missedLine, timed } from "./report.ts";
import { type End, Session } from "./session.ts";
import type { Settings } from "./settings.ts";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** Largest number of failed callbacks that are read from the index of the relay after a connection was made. */
const MAX_MISSED = 100;
/** Reason that is printed when the relay accepts the key, but no WebSocket opens. */
const NO_UPGRADE =
  "the relay answers, but no WebSocket opens; if this stays, a proxy before it does not pass on Upgrade";
/** HTTP statuses of answers of the relay after which another try to connect is of no use. */
const FINAL_STATUSES = [401, 403, 404];

/**
 * Receives the callbacks of an account's tasks with the `callback_url` `listen:`, and passes them on to a receiver
 * until it is stopped or the relay refuses the connection for good.
 */
export class Listener {
  readonly #settings: Settings;
  readonly #print: (line: string) => void;
  readonly #relay: TaskRelay;
  /** Secrets that the account's callbacks are signed with, read again whenever a connection is made. */
  #secrets: Promise<readonly string[]> = Promise.resolve([]);
  /** Ids of the tasks whose failed callbacks were printed already. */
  readonly #reported = new Set<string>();

  /** Creates a listener that is not connected yet. @param print takes one line at a time. */
  constructor(settings: Settings, print: (line: string) => void) {
    this.#settings = settings;
    this.#print = print;
    this.#relay = new TaskRelay({ url: settings.relay, key: settings.key });
  }

  /** Listens, over one connection after the other. @returns null after a stop, else why listening cannot go on. */
  async run(stop: AbortSignal): Promise<string | null> {
    this.#print(timed(`Connecting to ${this.#settings.relay}. Ctrl-C ends this.`));
    for (let failures = 0; ; failures++) {
      const end = await this.#listen(stop);
      if (stop.aborted) return null;
      const { reason, isFinal } =
        end.wasConnected || end.isFinal ? end : await this.#failureToConnect();
      if (isFinal) return `The relay takes no listener: ${reason}`;
      if (end.wasConnected) failures = 0;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      const jitteredMs = Math.round(pauseMs * (0.5 + Math.random() / 2));
      const cause = reason.replace(/\.$/, "");
      this.#print(timed(`Not connected: ${cause}. Trying again in ${jitteredMs} ms.`));
      await sleep(jitteredMs, stop).catch(() => {});
      if (stop.aborted) return null;
    }
  }

  async #listen(stop: AbortSignal): Promise<End> {
    const { relay, key, to } = this.#settings;
    const session = new Session(relay, key, {
      onConnected: (account) => {
        const callbacks = 'callbacks of its tasks with the callback_url "listen:"';
        const effect = `${callbacks} are passed on to ${to.href}`;
        this.#print(timed(`Connected to ${relay} as account ${account}; ${effect}`));
        this.#secrets = this.#secretsOf(account);
        // A failure is printed with each callback.
        this.#secrets.catch(() => {});
        void this.#reportMissed();
      },
      onCallback: (callback) => this.#deliver(callback),
    });
    const close = () => session.close();
    stop.addEventListener("abort", close);
    try {
      return await session.ended;
    } finally {
      stop.removeEventListener("abort", close);
    }
  }

  /**
   * Finds out by a request without `Upgrade` why no connection was made, because a WebSocket does not tell the
   * reason.
   */
  async #failureToConnect(): Promise<Pick<End, "reason" | "isFinal">> {
    const { relay, key } = this.#settings;
    try {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`${relay}/v1/listen`, { headers });
      const answer = await response.json().catch(() => null);
      const { code, status, message } = new RelayProblem(response, answer);
      if (code === "invalid_request") return { reason: NO_UPGRADE, isFinal: false };
      return { reason: message, isFinal: code !== null && FINAL_STATUSES.includes(status) };
    } catch {
      return { reason: "no server answers at the address of the relay", isFinal: false };
    }
  }

  async #deliver(callback: Callback): Promise<Answer> {
    const startedAt = Date.now();
    const answer = await passOn(this.#settings.to, callback);
    const durationMs = Date.now() - startedAt;
    // The relay need not wait for the check of the signature.
    void this.#verdictOn(callback).then((verdict) =>
      this.#print(lineOf({ callback, answer, durationMs, verdict }, this.#settings.relay)),
    );
    return answer;
  }

  async #verdictOn(callback: Callback): Promise<string> {
    try {
      await verify(callback, await this.#secrets);
      return "verified";
    } catch (error) {
      return `not verified: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async #secretsOf(account: string): Promise<readonly string[]> {
    const path = "/v1/accounts/{account}/signing-secrets";
    const answer = this.#relay.api.GET(path, { params: { path: { account } } });
    return (await dataOf(answer)).callbacks;
  }

  /**
   * Prints how many callbacks have failed that were not printed before, at most 100. When they cannot be listed,
   * e.g. because the relay has no index, prints that it is not known whether callbacks were missed.
   */
  async #reportMissed(): Promise<void> {
    const ids: string[] = [];
    let read = 0;
    try {
      for await (const { id } of this.#relay.list({ callback: "failed", host: "listen" })) {
        if (!this.#reported.has(id)) ids.push(id);
        read += 1;
        if (read === MAX_MISSED) break;
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#print(timed(`Whether callbacks were missed is not known: ${reason}`));
    }
    for (const id of ids) this.#reported.add(id);
    if (ids.length > 0) this.#print(missedLine(ids, read < MAX_MISSED, this.#settings.relay));
  }
}
