/**
 * Names of the API keys that were used for a task: the label of a key, or the first digits of its SHA-256.
 * They are stored for the log, and the one of the registration also for the ledger. A name is null when the
 * task has had no such request, or when the request had no key.
 */
export interface KeyNames {
  /** Name of the key with which the task was registered. */
  readonly registeredBy: string | null;
  /** Name of the key with which the job of the upstream was attached. */
  readonly attachedBy: string | null;
  /**
   * Name of the key with which the latest event was reported; null also for an event that is signed instead.
   */
  readonly reportedBy: string | null;
}

export const NO_KEY_NAMES: KeyNames = { registeredBy: null, attachedBy: null, reportedBy: null };
