import type { Client } from "../harness/client.ts";

/** A relay under load, as the tests call it during the load and read it afterwards. */
export interface Stage {
  /** Where callers and providers send their requests. */
  readonly url: string;
  /** Client that reads when the load is over. */
  readonly client: Client;
  /** Waits until nothing is due any more. */
  readonly settle: (meanwhile: () => void) => Promise<void>;
  readonly log: () => string;
}
