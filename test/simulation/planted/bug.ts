/** A plausible mistake, as changes to the sources. */
export interface Bug {
  readonly what: string;
  readonly changes: readonly Change[];
}

export interface Change {
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly instead: string;
}

export function bug(what: string, ...changes: readonly (readonly [string, string, string])[]): Bug {
  return { what, changes: changes.map(([file, text, instead]) => ({ file, text, instead })) };
}
