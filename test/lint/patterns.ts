import { globSync, readFileSync } from "node:fs";
import {
  type CallExpression,
  type Expression,
  type NewExpression,
  type Node,
  parseSync,
  type Span,
  Visitor,
} from "oxc-parser";
import { checkSync } from "recheck";

const SOURCES = ["src/**/*.{ts,tsx,js}", "client/src/**/*.ts"];

/**
 * No limit of an examination by the clock. A search that took longer than such a limit would count as more than linear
 * growth, also if only the machine is slow. The numbers of steps are limited instead.
 */
const NO_TIME_LIMITS = {
  timeout: null,
  seedingTimeout: null,
  incubationTimeout: null,
  attackTimeout: null,
} as const;

/**
 * Parameters of recheck by the effort of an examination. A quick one takes milliseconds: an automaton of more
 * than `maxNFASize` states, which is proved only by a full one, is tried with few texts instead.
 */
const EFFORTS = {
  quick: {
    maxNFASize: 5_000,
    maxIteration: 1,
    maxInitialGenerationSize: 50,
    mutationSize: 2,
    crossSize: 2,
    incubationLimit: 2_000,
  },
  full: {},
} as const;

/** A regular expression with its place in a source file. */
export interface Pattern {
  /** File and line. */
  readonly at: string;
  readonly source: string;
  readonly flags: string;
}

/** The regular expressions of a source file, and the places of those whose text only the running code knows. */
interface Patterns {
  readonly patterns: readonly Pattern[];
  readonly unreadable: readonly string[];
}

/** Finds all regular expressions of the relay, the scripts of its pages and the client. */
export function ownPatterns(): Patterns {
  const files = SOURCES.flatMap((glob) => globSync(glob)).filter((file) => !file.endsWith(".d.ts"));
  const found = files.map((file) => patternsIn(file, readFileSync(file, "utf8")));
  return {
    patterns: found.flatMap(({ patterns }) => patterns),
    unreadable: found.flatMap(({ unreadable }) => unreadable),
  };
}

/**
 * Finds the regular expressions in the text of a source file: literals, `RegExp(…)` with the pattern as one text,
 * and attributes `pattern` of fields.
 */
export function patternsIn(file: string, text: string): Patterns {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed.`);
  const patterns: Pattern[] = [];
  const unreadable: string[] = [];
  const placeOf = ({ start }: Span) => `${file}:${text.slice(0, start).split("\n").length}`;
  const addCall = (call: NewExpression | CallExpression) => {
    if (!isRegExp(call.callee)) return;
    const [source, flags] = call.arguments.map(textOf);
    const isReadable = typeof source === "string" && flags !== null;
    if (isReadable) patterns.push({ at: placeOf(call), source, flags: flags ?? "" });
    else unreadable.push(placeOf(call));
  };
  new Visitor({
    Literal: (literal) => {
      if (!("regex" in literal)) return;
      const { pattern: source, flags } = literal.regex;
      patterns.push({ at: placeOf(literal), source, flags });
    },
    NewExpression: addCall,
    CallExpression: addCall,
    JSXAttribute: (attribute) => {
      const { name, value } = attribute;
      if (name.name !== "pattern") return;
      // A pattern that a component passes on stands in the file that uses the component.
      const source = value === null ? null : textOf(value);
      if (source !== null)
        patterns.push({ at: placeOf(attribute), source: `^(?:${source})$`, flags: "u" });
    },
  }).visit(program);
  return { patterns, unreadable };
}

function isRegExp(callee: Expression): boolean {
  if (callee.type === "Identifier") return callee.name === "RegExp";
  if (callee.type !== "MemberExpression" || callee.computed) return false;
  return callee.property.name === "RegExp";
}

/** Returns the text that an expression always has; null when only the running code knows it. */
function textOf(node: Node): string | null {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
  if (node.type !== "TemplateLiteral") return null;
  const [only, ...more] = node.quasis;
  return more.length === 0 ? (only?.value.cooked ?? null) : null;
}

/** Returns what is wrong with regular expressions, each of which is examined once however often it is written. */
export function faultsOf(
  patterns: readonly Pattern[],
  effort: keyof typeof EFFORTS,
): readonly string[] {
  const distinct = new Map(patterns.map((each) => [`/${each.source}/${each.flags}`, each]));
  return [...distinct.values()].flatMap((each) => faultOf(each, effort) ?? []);
}

/**
 * Examines how the time grows that a regular expression takes to search in a text, and returns what is wrong with
 * it: more than linear growth with a text that shows it, or that there is no answer. Null for linear growth.
 */
function faultOf({ at, source, flags }: Pattern, effort: keyof typeof EFFORTS): string | null {
  const found = checkSync(source, flags, { ...NO_TIME_LIMITS, ...EFFORTS[effort] });
  const name = `${at}: /${source}/${flags}`;
  if (found.status === "safe") return null;
  if (found.status === "unknown") return `${name} could not be examined (${found.error.kind})`;
  return `${name} takes ${found.complexity.summary} time for ${found.attack.pattern}`;
}
