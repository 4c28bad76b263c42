import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { Child, freePort, QUIET_ENV, WRANGLER } from "./child.ts";
import { Client, OPERATOR_KEY } from "./client.ts";
import type { Vars } from "./workerd.ts";

/** What these tests read of a row of the list. */
export type Listed = z.infer<typeof Listed>;
const Listed = z.object({
  id: z.string(),
  status: z.string(),
  model: z.string(),
  created_at: z.int(),
  completed_at: z.int().optional(),
  callback: z
    .object({
      status: z.string(),
      host: z.string(),
      attempts: z.int(),
      last_outcome: z.string().optional(),
      last_status_code: z.int().optional(),
    })
    .nullable(),
});
const Page = z.object({ data: z.array(Listed), next_cursor: z.string().nullable() });

/** What came of an order to redeliver by the filters of the list. */
const Redelivered = z.object({
  matched: z.int(),
  started: z.int(),
  skipped: z.int(),
  next_cursor: z.string().nullable(),
});

/** `wrangler dev`, whose D1 holds the index; its processes may die, its storage stays. */
export class IndexedRelay implements AsyncDisposable {
  readonly url: string;
  readonly client: Client;
  readonly #home: string;
  readonly #args: readonly string[];
  #child: Child | null = null;

  private constructor(home: string, port: number, args: readonly string[]) {
    this.#home = home;
    this.#args = args;
    this.url = `http://127.0.0.1:${port}`;
    this.client = new Client(this);
  }

  /** @param config says what is bound. @param parent where to make its storage. */
  static async start(
    vars: Vars,
    config = "wrangler.toml",
    parent = tmpdir(),
  ): Promise<IndexedRelay> {
    const home = await mkdtemp(join(parent, "task-relay-indexed-"));
    const [port, inspectorPort] = [await freePort(), await freePort()];
    const ports = ["--port", String(port), "--inspector-port", String(inspectorPort)];
    const settings = Object.entries(vars).flatMap(([name, text]) => ["--var", `${name}:${text}`]);
    const args = [WRANGLER, "dev", "-c", config, "--ip", "127.0.0.1", ...ports];
    const relay = new IndexedRelay(home, port, [...args, "--persist-to", home, ...settings]);
    try {
      await relay.restart();
    } catch (error) {
      await relay.stop();
      throw error;
    }
    return relay;
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
    this.#child = null;
  }

  /** New processes on the same storage and port. */
  async restart(): Promise<void> {
    await this.kill9();
    const env = { ...QUIET_ENV, WRANGLER_REGISTRY_PATH: join(this.#home, "registry") };
    this.#child = new Child(process.execPath, this.#args, env);
    await this.#child.answering(`${this.url}/healthz`);
  }

  /** Every row that fits, newest first. */
  async list(filters: Readonly<Record<string, string>> = {}): Promise<readonly Listed[]> {
    const rows: Listed[] = [];
    const query = new URLSearchParams({ ...filters, limit: "200" });
    for (;;) {
      const { json } = await this.client.ask("GET", `/v1/tasks?${query.toString()}`);
      const page = Page.parse(json);
      rows.push(...page.data);
      if (page.next_cursor === null) return rows;
      query.set("cursor", page.next_cursor);
    }
  }

  /** `POST /v1/redeliveries` for every task of the list with these filters. */
  async redeliver(filters: Readonly<Record<string, string>>, idempotencyKey: string) {
    const headers = {
      Authorization: `Bearer ${OPERATOR_KEY}`,
      "Idempotency-Key": idempotencyKey,
    };
    const query = new URLSearchParams(filters).toString();
    const response = await fetch(`${this.url}/v1/redeliveries?${query}`, {
      method: "POST",
      headers,
    });
    return Redelivered.parse(await response.json());
  }

  async stop(): Promise<void> {
    await this.kill9();
    await rm(this.#home, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
