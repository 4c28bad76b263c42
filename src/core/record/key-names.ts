/**
 * Names of the API keys that were used for a task. The name of a key is its label or, without a label, the first digits
 * of its SHA-256. The names are stored for the log; the ledger also gets the name of the key with which the task was
 * registered. A name is null when its request was not made for the task, or was made without a key.
 */
export interface KeyNames {
  /** Name of the key with which the task was registered. */
  readonly registeredBy: string | null;
  /** Name of the key with which the job of the upstream was attached. */
  readonly attachedBy: string | null;
  /**
   * Name of the key with which the latest event was reported. Null also when that event was authenticated by a
   * signature and not by a key.
   */
  readonly reportedBy: string | null;
}

export const NO_KEY_NAMES: KeyNames = { registeredBy: null, attachedBy: null, reportedBy: null };
