import { type DemoReceiver, startReceivers } from "../../../scripts/demo/receivers.ts";
import { relayClient } from "../../../scripts/demo/relay-client.ts";
import { ACCOUNT, createAccount, DOWN_COUNT, seed } from "../../../scripts/demo/seed.ts";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../../process/harness/client.ts";
import { WranglerDev } from "../../process/harness/wrangler-dev.ts";
import type { Shown } from "./pages.ts";

const VARS = {
  ...LOCAL_VARS,
  ARK_API_KEY: "screenshots-only",
  CALLBACK_SCHEDULE_S: "0,2,2",
  CALLBACK_TIMEOUT_S: "2",
  SANDBOX: "true",
};
const Page = z.object({ data: z.tuple([z.looseObject({ id: z.string() })], z.unknown()) });

/** Creates endpoints of the account of the demo, and one of the relay. */
async function putEndpoints(origin: string, url: string): Promise<void> {
  const headers = { Authorization: "Bearer 3q2-7w", "X-Tenant": "acme" };
  const orders = { url, headers, schedule_s: "day", own_secret: true };
  const endpoints = [
    [`/v1/accounts/${ACCOUNT}/endpoints/orders`, orders],
    [`/v1/accounts/${ACCOUNT}/endpoints/default`, { url: "https://client.example.com/callbacks" }],
    ["/v1/endpoints/progress", { url, events: ["completed", "failed", "progress"] }],
  ] as const;
  for (const [path, settings] of endpoints) {
    const init = { method: "PUT", headers: { Authorization: `Bearer ${OPERATOR_KEY}` } };
    const response = await fetch(origin + path, { ...init, body: JSON.stringify(settings) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  }
}

/** A relay with its index, and the tasks of `npm run demo` in it. */
export class SeededRelay implements AsyncDisposable, Shown {
  readonly url: string;
  readonly failedTask: string;
  readonly downHost: string;
  readonly #relay: WranglerDev;
  readonly #receivers: readonly DemoReceiver[];

  private constructor(
    relay: WranglerDev,
    receivers: readonly DemoReceiver[],
    { failedTask, downHost }: Shown,
  ) {
    this.url = relay.url;
    this.#relay = relay;
    this.#receivers = receivers;
    this.failedTask = failedTask;
    this.downHost = downHost;
  }

  static async start(): Promise<SeededRelay> {
    const relay = await WranglerDev.start({ vars: VARS });
    const receivers = await startReceivers();
    const client = relayClient(relay.url, OPERATOR_KEY);
    await createAccount(client);
    await seed(client, receivers);
    await putEndpoints(relay.url, receivers.down.url);
    const downHost = new URL(receivers.down.url).host;
    const failed = `/v1/tasks?callback=failed&host=${downHost}`;
    // The index gets the end of a callback a little later than the task itself.
    await client.textUntil(`${failed}&count=true`, new RegExp(`"count":${DOWN_COUNT}\\b`));
    const listed = await client.text(`${failed}&limit=1`);
    await fetch(`${relay.url}/cdn-cgi/handler/scheduled?cron=*/10+*+*+*+*`);
    const { data } = Page.parse(JSON.parse(listed));
    const shown = { downHost, failedTask: data[0].id };
    return new SeededRelay(relay, Object.values(receivers), shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of this.#receivers) receiver.close();
    await this.#relay[Symbol.asyncDispose]();
  }
}
