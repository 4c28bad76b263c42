import { startReceiver, type DemoReceiver } from "../../../scripts/demo/receivers.ts";
import { relayClient } from "../../../scripts/demo/relay-client.ts";
import { type Receivers, seed } from "../../../scripts/demo/seed.ts";
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
    const receivers: Receivers = {
      healthy: await startReceiver("healthy"),
      flaky: await startReceiver("flaky"),
      down: await startReceiver("down"),
      refusing: await startReceiver("refusing"),
      hanging: await startReceiver("hanging"),
    };
    const client = relayClient(relay.url, OPERATOR_KEY);
    await seed(client, receivers);
    await fetch(`${relay.url}/cdn-cgi/handler/scheduled?cron=*/10+*+*+*+*`);
    const downHost = new URL(receivers.down.url).host;
    const listed = await client.text(`/v1/tasks?callback=failed&host=${downHost}&limit=1`);
    const { data } = Page.parse(JSON.parse(listed));
    const shown = { downHost, failedTask: data[0].id };
    return new SeededRelay(relay, Object.values(receivers), shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of this.#receivers) receiver.close();
    await this.#relay[Symbol.asyncDispose]();
  }
}
