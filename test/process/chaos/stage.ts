import type { Client } from "../harness/client.ts";

/** A relay under load, as those see it who load it and read it in the end. */
export interface Stage {
  /** Where callers and providers send their requests. */
  readonly url: string;
  /** Client that reads when the load is over. */
  readonly client: Client;
  /** Waits until nothing is due any more. */
  readonly settle: (meanwhile: () => void) => Promise<void>;
  readonly log: () => string;
}
