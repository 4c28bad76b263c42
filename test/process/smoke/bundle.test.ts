import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Client, completedEvent, SECRETS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";

const MAX_GZIP_KIB = 90;

describe("the bundle of a dry run", () => {
  it("is smaller than 90 KiB gzipped, by wrangler's count and by ours", async () => {
    const { script, said } = await bundleOf();
    const wranglers = Number(/gzip: ([\d.]+) KiB/.exec(said)?.[1]);
    const ours = gzipSync(script).length / 1024;
    console.log(`bundle: ${wranglers} KiB gzipped (wrangler), ${ours.toFixed(2)} KiB (gzip)`);
    expect(wranglers).toBeLessThan(MAX_GZIP_KIB);
    expect(ours).toBeLessThan(MAX_GZIP_KIB);
    expect(Math.abs(wranglers - ours)).toBeLessThan(2);
  });

  it("lives a whole task in plain workerd with TASKS and ACCOUNTS alone", async () => {
    await using receiver = await Receiver.start();
    await using relay = await Workerd.start({
      vars: { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" },
    });
    const client = new Client(relay);
    const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
    const callback_url = receiver.at("/done", { kind: "answer", status: 204 });

    const registration = { id, model: "seedance-1-pro", callback_url, metadata: { order: "17" } };
    expect((await client.ask("POST", "/v1/tasks", registration)).status).toBe(201);
    expect(await client.read(id)).toMatchObject({
      status: "pending",
      callback: { status: "waiting", attempts: [] },
    });

    const event = completedEvent(id, callback_url);
    expect((await client.ask("POST", "/v1/events", event)).status).toBe(202);
    expect((await client.ask("POST", "/v1/events", event)).status).toBe(200);
    expect(await client.settled(id)).toMatchObject({
      status: "completed",
      callback: { status: "delivered", attempts: [{ number: 1, series: 1, status_code: 204 }] },
    });

    expect((await client.ask("POST", `/v1/tasks/${id}/redeliver`)).status).toBe(202);
    expect((await client.settled(id)).callback?.attempts).toMatchObject([
      { number: 1, series: 1, outcome: "delivered" },
      { number: 2, series: 2, outcome: "delivered" },
    ]);
    const verify = await client.verifier();
    expect(receiver.posts.map(verify)).toMatchObject([{ id }, { id }]);

    expect((await client.ask("DELETE", `/v1/tasks/${id}`)).status).toBe(204);
    expect((await client.ask("GET", `/v1/tasks/${id}`)).status).toBe(404);
  });
});
