import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const vars = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0" };
const relay = await forThisFile(Workerd.start({ vars }));
const receiver = await forThisFile(Receiver.start());
const plain = receiver.at("/plain", { kind: "answer", status: 200 });

it.concurrent.each([
  ["no server listens at its port", await closedPort(), "refused", 521],
  ["its name does not exist", "https://receiver.invalid/callback", "dns", 530],
  ["it speaks no TLS", plain.replace("http:", "https:"), "tls", 525],
])(
  "on plain workerd, an attempt of a callback to a receiver that cannot be reached says why: %s",
  async (_, url, cause, status_code) => {
    const id = await relay.client.finish(url);
    const { callback } = await relay.client.settled(id);
    expect(callback?.attempts).toMatchObject([{ outcome: "unreachable", cause, status_code }]);
    expect(receiver.posts).toEqual([]);
  },
);
