import type { Variables } from "../variables.ts";

/**
 * Name of a variable or secret that has a description. `INDEX_DB` has none, because it is a binding and no
 * variable; `CONNECTIONS` is added, because it is not read by the schema.
 */
export type VariableName = Exclude<keyof typeof Variables.shape, "INDEX_DB"> | "CONNECTIONS";

/** The whole numbers that a variable takes. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly unit: string;
  /** Largest number of comma-separated numbers; absent for a single number. */
  readonly maxCount?: number;
}

/** Description of a variable, which only documents and tests read and the running relay does not. */
export interface VariableDescription {
  /** Value that has the same effect as leaving the variable out; null when no value has. */
  readonly fallback: string | null;
  /**
   * Word for what holds while the variable is not set, where `fallback` cannot state it: e.g. `required`
   * when the relay does not work without it, or `derived` when the value is derived from another secret.
   */
  readonly without?: string;
  /** The words or the numbers that the variable takes, or its form in words. */
  readonly values: readonly string[] | NumberRange | string;
  /**
   * Further names under which the same kind of value is read, such as `CONNECTIONS_2` beside `CONNECTIONS`.
   */
  readonly aliases?: readonly string[];
  /** Effect of the variable, in Markdown, with links as in `docs`. */
  readonly meaning: string;
}

/** Descriptions of some of the variables, by the name of the variable. */
export type Descriptions = Readonly<Partial<Record<VariableName, VariableDescription>>>;

/** Fields that the descriptions of all variables that are `true` or `false` have in common. */
export const FLAG = { fallback: "false", values: ["true", "false"] } as const;
