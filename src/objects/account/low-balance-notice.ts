import { isWanted } from "../../config/operator-events.ts";
import { configOf, type WithStartup } from "../../config/runtime.ts";
import type { Watched } from "../../core/ledger.ts";
import { planRetry, type Retry } from "../../core/record/retry.ts";
import { log } from "../../lib/log.ts";
import { sendOperatorEvent } from "../../outbound/webhooks.ts";

const TYPE = "account.low_balance";
const NOTICE_KEY = "low_balance_notice";
/** Largest number of tries, which take about 20 minutes. */
const MAX_TRIES = 10;

/** A message that the balance of an account has become low. */
interface Notice extends Retry {
  readonly account: string;
  readonly balance: number;
  readonly lowBalance: number;
  /** Time at which the balance has become low, in Unix milliseconds. */
  readonly at: number;
}

/**
 * The message to the operator that the balance of an account has become low. It is stored in the object of the account's
 * ledger, in the same commit as the entry that has lowered the balance, under the key `low_balance_notice`, until the
 * operator's receiver has accepted it or 10 tries have failed. A newer message takes the place of one that waits.
 */
export class LowBalanceNotice {
  readonly #context: DurableObjectState;
  readonly #env: () => WithStartup;

  constructor(context: DurableObjectState, env: () => WithStartup) {
    this.#context = context;
    this.#env = env;
  }

  /** Stores the message, if the operator wants such messages, and sets the alarm by which it is sent. */
  note({ balance, lowBalance }: Watched): void {
    const config = configOf(this.#env());
    const { id, storage } = this.#context;
    const { name: account } = id;
    if (config === null || !isWanted(config, TYPE) || account === undefined || lowBalance === null)
      return;
    const at = Date.now();
    storage.kv.put<Notice>(NOTICE_KEY, { account, balance, lowBalance, at, retryAt: at, tries: 0 });
    void storage.setAlarm(at);
  }

  /**
   * Sends the message if there is one and it is due, and sets the alarm for its next try, unless an earlier one is set. A
   * try while the configuration is not valid counts as failed.
   */
  async send(): Promise<void> {
    const notice = this.#read();
    if (notice === null) return;
    if (notice.retryAt <= Date.now()) await this.#try(notice);
    const next = this.#read();
    if (next === null) return;
    const { storage } = this.#context;
    const alarmAt = await storage.getAlarm();
    if (alarmAt === null || alarmAt > next.retryAt) await storage.setAlarm(next.retryAt);
  }

  async #try(notice: Notice): Promise<void> {
    const { account, at, balance, lowBalance, tries } = notice;
    const { runtime } = this.#env().startup;
    const event = { type: TYPE, account, balance, low_balance: lowBalance } as const;
    const isTaken =
      runtime.ok && (await sendOperatorEvent(event, `${TYPE}_${account}_${at}`, at, runtime.value));
    // A newer message may have taken its place meanwhile.
    if (this.#read()?.at !== at) return;
    const { kv } = this.#context.storage;
    if (!isTaken && tries + 1 < MAX_TRIES) {
      kv.put<Notice>(NOTICE_KEY, { ...notice, ...planRetry(notice, Date.now()) });
      return;
    }
    kv.delete(NOTICE_KEY);
    if (!isTaken) log({ event: "operator.dropped", type: TYPE, account }, "warn");
  }

  #read(): Notice | null {
    return this.#context.storage.kv.get<Notice>(NOTICE_KEY) ?? null;
  }
}
