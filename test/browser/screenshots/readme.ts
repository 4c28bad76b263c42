import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startReceiver } from "../../../scripts/demo/receivers.ts";
import { finish } from "../../../scripts/demo/seed.ts";
import { relayClient } from "../../../scripts/demo/relay-client.ts";
import { ROOT } from "../../process/harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../../process/harness/client.ts";
import { Workerd } from "../../process/harness/workerd.ts";
import { logIn } from "../log-in.ts";
import { Tab } from "../tab.ts";

/** The pictures are 1600 pixels wide and show the page of a task down to its timeline. */
const VIEWPORT = { width: 1280, height: 860 };
const LOOKS = ["light", "dark"] as const;
const LOOK_EVERY_MS = 1000;

/**
 * Takes the README's pictures, `docs/console-light.png` and `docs/console-dark.png`: the page of a task whose
 * first attempt was answered with 502 and whose second one, three minutes later, was delivered. The waits are
 * real ones of the default schedule.
 */
export async function takeReadmePictures(): Promise<void> {
  await using relay = await Workerd.start({ vars: LOCAL_VARS });
  const receiver = await startReceiver("flaky");
  try {
    const client = relayClient(relay.url, OPERATOR_KEY);
    const order = { model: "doubao-seedance-2.0", callback_url: receiver.url };
    const urls = ["https://cdn.example.com/video.mp4"];
    const id = await finish(client, order, { status: "completed", output: { urls } });
    while (!/"status":"delivered"/.test(await client.text(`/v1/tasks/${id}`))) {
      await sleep(LOOK_EVERY_MS);
    }
    for (const look of LOOKS) {
      const context = { viewport: VIEWPORT, deviceScaleFactor: 1.25, colorScheme: look };
      await using tab = await Tab.open(relay.url, { context });
      await logIn(tab.page, `/tasks/${id}`);
      const path = join(ROOT, `docs/console-${look}.png`);
      await tab.page.screenshot({ path });
      console.log(path);
    }
  } finally {
    receiver.close();
  }
}
