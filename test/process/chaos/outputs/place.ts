import { type BucketContent, inBucket } from "../../harness/bucket.ts";
import type { Client } from "../../harness/client.ts";
import { S3Server } from "../../harness/s3-server.ts";
import { Workerd, type Vars } from "../../harness/workerd.ts";
import { WranglerDev } from "../../harness/wrangler-dev.ts";

/** A relay that is killed and restarted. */
export interface KilledRelay {
  readonly url: string;
  readonly client: Client;
  readonly kill9: () => Promise<void>;
  readonly restart: () => Promise<void>;
}

/** A relay that keeps outputs, and its bucket. */
export interface Place extends AsyncDisposable {
  readonly relay: KilledRelay;
  readonly content: () => Promise<BucketContent>;
}

/** Starts a relay whose bucket is that of `wrangler dev`, which is killed with it. */
export async function startWithR2(vars: Vars): Promise<Place> {
  const relay = await WranglerDev.start({ vars, hasIndex: false, hasOutputs: true });
  return {
    relay,
    content: async () => inBucket(relay),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

/** Starts a relay in plain workerd whose bucket is in an S3 server, which goes on while the relay is killed. */
export async function startWithS3(vars: Vars): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const store = stack.use(await S3Server.start());
  const relay = stack.use(await Workerd.start({ vars: { ...vars, ...store.vars } }));
  return {
    relay,
    content: () => store.content(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
