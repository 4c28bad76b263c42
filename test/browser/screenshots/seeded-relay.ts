import { type DemoReceiver, startReceivers } from "../../../scripts/demo/receivers.ts";
import { relayClient } from "../../../scripts/demo/relay-client.ts";
import { ACCOUNT, createAccount, DOWN_COUNT, seed } from "../../../scripts/demo/seed.ts";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../../process/harness/client.ts";
import { LoopbackServer } from "../../process/harness/loopback.ts";
import { WranglerDev } from "../../process/harness/wrangler-dev.ts";
import { picture } from "../media.ts";
import type { Shown } from "./pages.ts";

const VARS = {
  ...LOCAL_VARS,
  BRAND_NAME: "Fox & Films",
  BRAND_COLOR: "#0e8577",
  ARK_API_KEY: "screenshots-only",
  CALLBACK_SCHEDULE_S: "0,2,2",
  CALLBACK_TIMEOUT_S: "2",
  SANDBOX: "true",
};
const PICTURE = picture(768, 432, [200, 90, 30]);
const Registered = z.object({ id: z.string(), status_url: z.string() });
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

/** Registers a task, and completes it if it has outputs. @returns its status link. */
async function statusLinkOf(relay: WranglerDev, urls: readonly string[]): Promise<string> {
  const registered = await relay.client.ask("POST", "/v1/tasks", { model: "seedream-4" });
  const { id, status_url: link } = Registered.parse(registered.json);
  const event = { id, status: "completed", output: { urls, metadata: { seed: 7 } } };
  if (urls.length > 0) await relay.client.ask("POST", "/v1/events", event);
  return link;
}

/** A relay with its index, and the tasks of `npm run demo` in it. */
export class SeededRelay implements AsyncDisposable, Shown {
  readonly url: string;
  readonly failedTask: string;
  readonly downHost: string;
  readonly statusLinks: Shown["statusLinks"];
  /** Origin of an upstream that has generated a picture. */
  readonly upstream: string;
  readonly #relay: WranglerDev;
  readonly #receivers: readonly DemoReceiver[];
  readonly #pictures: LoopbackServer;

  private constructor(
    relay: WranglerDev,
    receivers: readonly DemoReceiver[],
    pictures: LoopbackServer,
    { failedTask, downHost, statusLinks }: Shown,
  ) {
    this.url = relay.url;
    this.#relay = relay;
    this.#receivers = receivers;
    this.failedTask = failedTask;
    this.downHost = downHost;
    this.statusLinks = statusLinks;
    this.#pictures = pictures;
    this.upstream = pictures.origin;
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
    const pictures = await new LoopbackServer((_, response) => {
      response.writeHead(200, { "Content-Type": "image/png" }).end(PICTURE);
    }).listen();
    const statusLinks = {
      open: await statusLinkOf(relay, []),
      picture: await statusLinkOf(relay, [`${pictures.origin}/fox.png`]),
    };
    const shown = { downHost, failedTask: data[0].id, statusLinks };
    return new SeededRelay(relay, Object.values(receivers), pictures, shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of this.#receivers) receiver.close();
    await this.#pictures[Symbol.asyncDispose]();
    await this.#relay[Symbol.asyncDispose]();
  }
}
