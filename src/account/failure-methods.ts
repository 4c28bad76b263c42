import { DurableObject } from "cloudflare:workers";
import { type AlertKind, FailureTracker } from "./failure-tracker.ts";
import { JurisdictionMarker } from "./jurisdiction-marker.ts";

/**
 * Methods of `AccountObject` for the objects that belong to no account: those of a connection, of a
 * receiver's host, and of the deployment.
 */
export abstract class FailureMethods extends DurableObject<object> {
  protected readonly failures = new FailureTracker(this.ctx.storage);
  readonly #marker = new JurisdictionMarker(this.ctx.storage.kv);

  /**
   * Stores that the provider refused the API key of this object's connection.
   * @returns true when the caller is to alert the operator.
   */
  noteRefusedKey(): boolean {
    return this.failures.noteRefusedKey(Date.now());
  }

  /**
   * Returns the time of the last refusal of the connection's API key, in Unix milliseconds; null when never.
   */
  keyRefusedAt(): number | null {
    return this.failures.refusedAt();
  }

  /**
   * Counts failed attempts at the receiver's host to which this object belongs.
   * @returns true when the caller is to alert the operator.
   */
  async noteFailure(count = 1): Promise<boolean> {
    const isAlertDue = this.failures.noteFailure(Date.now(), count);
    await this.failures.scheduleErasure();
    return isAlertDue;
  }

  /**
   * Reserves the right to alert the operator of a fault of the index.
   * @returns true when the caller is to send the alert: at most once an hour for each kind.
   */
  claimAlertSlot(kind?: AlertKind): boolean {
    return this.failures.claimAlertSlot(Date.now(), kind);
  }

  /** Stores the jurisdiction of the deployment's first request. @returns the stored one, new or older. */
  claimJurisdiction(jurisdiction: string): string {
    return this.#marker.claim(jurisdiction);
  }
}
