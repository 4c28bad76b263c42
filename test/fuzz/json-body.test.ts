import * as fc from "fast-check";
import { type Node, parseTree } from "jsonc-parser";
import { expect, it } from "vitest";
import {
  editBody,
  type Found,
  listIn,
  type NewValue,
  scanBody,
  type ScannedBody,
} from "../../src/api/submit/json-body.ts";
import { isObject, jsonEqual, type JsonObject, type JsonValue } from "../../src/core/json.ts";
import { success } from "../../src/core/result.ts";
import { bytesOf } from "../../src/security/encoding.ts";
import { fuzz, rarely } from "./fuzz.ts";
import { bodyBytes, NAMES } from "./json-text.ts";
import { expectLinear, repeated, withNames } from "./linear-time.ts";

const MAX_LEVELS = 256;
const MAX_SCALAR_CHARS = 1_024;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

type Scan = typeof scanBody;
type Edit = typeof editBody;
type ReadList = typeof listIn;

type Path = readonly string[];
interface Chosen {
  readonly path: Path;
  /** Number of a member that the text has, which is taken instead; null takes none. */
  readonly present: number | null;
}

const choices: fc.Arbitrary<readonly Chosen[]> = fc.array(
  fc.record({
    path: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
    present: rarely(60, fc.nat()),
  }),
  { minLength: 1, maxLength: 3 },
);

/** Returns the paths that were chosen. */
function pathsOf(bytes: Uint8Array, chosen: readonly Chosen[]): readonly Path[] {
  const present = pathsIn(parseTree(lenient.decode(bytes)));
  return chosen.map(({ path, present: number }) =>
    number === null ? path : (present[number % present.length] ?? path),
  );
}

/** Lists the paths of the members that stand in objects. */
function pathsIn(object: Node | undefined): readonly Path[] {
  if (object?.type !== "object") return [];
  const members = object.children ?? [];
  return members.flatMap(({ children: [key, value] = [] }) => {
    const name = String(key?.value);
    return [[name], ...pathsIn(value).map((inner) => [name, ...inner])];
  });
}

/** Bytes of a body, with paths of members, of which most stand in it. */
const bodies = fc
  .tuple(bodyBytes, choices)
  .map(([bytes, chosen]) => ({ bytes, paths: pathsOf(bytes, chosen) }));

function pointerOf(names: Path): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A body that is an object, and its text. */
interface Body {
  readonly value: JsonObject;
  readonly text: string;
}

/** Returns the object that the bytes are as JSON, read by JSON.parse; null when they are none with at most 256 levels. */
function objectOf(bytes: Uint8Array): Body | null {
  try {
    const text = strict.decode(bytes);
    const value: JsonValue = JSON.parse(text);
    return isObject(value) && levelsOf(text) <= MAX_LEVELS ? { value, text } : null;
  } catch {
    return null;
  }
}

function levelsOf(json: string): number {
  let [levels, most] = [0, 0];
  for (const char of json.replaceAll(/"(?:[^"\\]|\\.)*"/g, "")) {
    if (char === "{" || char === "[") most = Math.max(most, ++levels);
    if (char === "}" || char === "]") levels--;
  }
  return most;
}

/** Lists the members of an object that have this name, from a tree of the whole text. */
function namedIn(object: Node | undefined, name: string): readonly Node[] {
  if (object?.type !== "object") return [];
  const members = object.children ?? [];
  return members.flatMap(({ children: [key, value] = [] }) =>
    key?.value === name && value !== undefined ? [value] : [],
  );
}

/** Lists the pointers, from the outermost on, that the text names twice on the way to a member. */
function namedTwice(text: string, names: Path): readonly string[] {
  let objects = [parseTree(text)];
  return names.flatMap((name, i) => {
    const found = objects.flatMap((object) => namedIn(object, name));
    objects = found;
    return found.length > 1 ? [pointerOf(names.slice(0, i + 1))] : [];
  });
}

/** Returns the value of a member, read by JSON.parse; undefined when the object does not have it. */
function memberOf(object: JsonObject, names: Path): JsonValue | undefined {
  return names.reduce<JsonValue | undefined>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    object,
  );
}

/**
 * Returns what a scan must find of a member with this value.
 * @param spelled the value as the text spells it.
 */
function foundOf(value: JsonValue, spelled: string): Found {
  if (Array.isArray(value)) return { kind: "array" };
  if (typeof value === "string" && value.length > MAX_SCALAR_CHARS) return { kind: "long" };
  if (typeof value === "object" && value !== null) return { kind: "object" };
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value);
  const hasDigits = isRounded && /^-?\d+$/.test(spelled);
  return { kind: "scalar", value, ...(hasDigits && { digits: spelled }) };
}

/** Returns a member as the text spells it, from a tree of the whole text; empty when the text does not have it. */
function spellingOf(text: string, names: Path): string {
  const found = names.reduce<Node | undefined>(
    (object, name) => namedIn(object, name).at(-1),
    parseTree(text),
  );
  return found === undefined ? "" : text.slice(found.offset, found.offset + found.length);
}

/** Requires that what the scan has found of a member is what JSON.parse reads, with the digits that JSON.parse rounds. */
function requireFound(scanned: ScannedBody, { value: object, text }: Body, names: Path): void {
  const found = scanned.members.get(pointerOf(names));
  const value = memberOf(object, names);
  const expected = value === undefined ? undefined : foundOf(value, spellingOf(text, names));
  expect(found).toStrictEqual(expected);
}

/** Returns a scan of bodies of which the text is changed before. */
const ofText =
  (change: (text: string) => string): Scan =>
  (bytes, watched) =>
    scanBody(bytesOf(change(lenient.decode(bytes))), watched);

/** Returns a scan that takes a body in spite of this fault. */
const inSpiteOf =
  (isIgnored: (pointer: string, message: string) => boolean): Scan =>
  (bytes, watched) => {
    const scan = scanBody(bytes, watched);
    if (scan.ok || !isIgnored(scan.error.pointer, scan.error.message)) return scan;
    return scanBody(bytesOf("{}"), watched);
  };

fuzz(
  "any bytes are accepted as the body of a submission exactly when JSON.parse reads an object of at most 256 levels from them, and have the same values",
  {
    inputs: bodies,
    subject: scanBody,
    defects: {
      "accepts bytes that are not UTF-8": ofText((text) => text),
      "accepts a byte order mark": ofText((text) => text.replace(/^\ufeff/, "")),
      "accepts comments": ofText((text) => text.replaceAll(/\/\/.*\n|\/\*\*\//g, "")),
      "accepts trailing commas": ofText((text) => text.replaceAll(/,(?=\s*[}\]])/g, "")),
      "accepts other blanks": ofText((text) => text.replaceAll("\u00a0", " ")),
      "accepts control characters": ofText((text) => text.replaceAll("\u0000", " ")),
      "accepts line breaks in strings": ofText((text) => text.replaceAll("\n", " ")),
      "accepts single quotation marks": ofText((text) => text.replaceAll("'", '"')),
      "accepts wrong escapes": ofText((text) => text.replaceAll("\\x41", "A")),
      "accepts short escapes": ofText((text) => text.replaceAll(/\\u00e(?![\da-f])/gi, "A")),
      "accepts zeros before a number": ofText((text) => text.replaceAll(/(?<=[:,[])0(?=\d)/g, "")),
      "accepts numbers without an end": ofText((text) => text.replaceAll(/(?<=\d)\.(?!\d)/g, "")),
      "accepts NaN": ofText((text) => text.replaceAll("NaN", "null")),
      "accepts what follows the body": ofText((text) => text.replace(/\}[^"}\]]*$/, "}")),
      "accepts lists": ofText((text) => (text.startsWith("[") ? "{}" : text)),
      "accepts 257 levels": inSpiteOf((_, message) => message.includes("nested")),
      "refuses 256 levels": ofText((text) => (levelsOf(text) === MAX_LEVELS ? "" : text)),
      "accepts a member that is named twice": inSpiteOf((pointer) => pointer !== ""),
      "refuses every name that stands twice": (bytes, watched) => {
        const scan = scanBody(bytes, [...watched, ...NAMES.map((name) => pointerOf([name]))]);
        return scan.ok ? scanBody(bytes, watched) : scan;
      },
      "names another member": (bytes, watched) => {
        const scan = scanBody(bytes, watched);
        return scan.ok ? scan : { ok: false, error: { ...scan.error, pointer: "/other" } };
      },
      "does not read names that are spelt with escapes": ofText((text) =>
        text.replaceAll("\\u0069d", "x"),
      ),
      "reads -0 as 0": ofText((text) => text.replaceAll("-0", "0")),
      "reads integers exactly": ofText((text) => text.replaceAll("9007199254740993", "0")),
      "reads no long names": ofText((text) => text.replaceAll("metadata", "other")),
    },
    check: ({ bytes, paths }, subject) => {
      const scan = subject(bytes, paths.map(pointerOf));
      const body = objectOf(bytes);
      const twice = body === null ? [] : paths.flatMap((names) => namedTwice(body.text, names));
      const isRight = body !== null && twice.length === 0;
      if (scan.ok !== isRight) throw new Error(scan.ok ? "was accepted" : scan.error.message);
      if (!scan.ok) {
        if (twice.length > 0 && !twice.includes(scan.error.pointer)) throw new Error("other fault");
        return false;
      }
      if (body !== null) for (const names of paths) requireFound(scan.value, body, names);
      return true;
    },
  },
);

/** Returns the object with a member set; null when the member stands in what is no object. */
function withMember(
  object: JsonObject,
  [name = "", ...inner]: Path,
  text: NewValue,
): JsonObject | null {
  const present = Object.hasOwn(object, name) ? object[name] : {};
  const value = inner.length === 0 ? text : isObject(present) && withMember(present, inner, text);
  if (value === false || value === null) return null;
  return Object.fromEntries([...Object.entries(object), [name, value]]);
}

/** Returns the place in bytes of a member that is named once; null when the text does not have it. */
function spanOf(text: string, names: Path): readonly [start: number, end: number] | null {
  const node = names.reduce((object, name) => namedIn(object, name)[0], parseTree(text));
  if (node === undefined) return null;
  const bytesBefore = (offset: number) => bytesOf(text.slice(0, offset)).length;
  return [bytesBefore(node.offset), bytesBefore(node.offset + node.length)];
}

/** Lists what the parts leave out of the bytes that they are views of, and requires that they are in order. */
function gapsBetween(bytes: Uint8Array, parts: readonly Uint8Array[]) {
  const gaps: [start: number, end: number][] = [];
  let end = 0;
  for (const part of parts.filter(({ buffer }) => buffer === bytes.buffer)) {
    if (part.byteOffset < end) throw new Error("a part of the body stands twice");
    if (part.byteOffset > end) gaps.push([end, part.byteOffset]);
    end = part.byteOffset + part.length;
  }
  return end < bytes.length ? [...gaps, [end, bytes.length]] : gaps;
}

/** Returns an edit whose result is changed as text. */
const ofResult =
  (change: (text: string) => string): Edit =>
  (bytes, scanned, texts) => {
    const edited = editBody(bytes, scanned, texts);
    return edited.ok
      ? success([bytesOf(change(lenient.decode(bytesOf(...edited.value))))])
      : edited;
  };

/** Returns the paths without those that another one begins with or is the beginning of. */
function apart(paths: readonly Path[]): readonly Path[] {
  return paths.reduce<readonly Path[]>((kept, path) => {
    const touches = (other: Path) => path.every((name, i) => (other[i] ?? name) === name);
    return kept.some(touches) ? kept : [...kept, path];
  }, []);
}

fuzz(
  "when the relay sets members of a submission's body, JSON.parse reads the new values from it, and no byte but those of the replaced values changes",
  {
    cases: 50_000,
    inputs: fc.tuple(
      bodies,
      fc.constantFrom<NewValue>("https://relay.example.com/h", 'é"\\\n😀', ['é"\\\n😀']),
    ),
    subject: editBody,
    defects: {
      "writes the body anew": ofResult((text) => JSON.stringify(JSON.parse(text))),
      "copies the body": ofResult((text) => text),
      "loses the end": (bytes, ...rest) => editBody(bytes.subarray(0, -1), ...rest),
      "counts characters instead of bytes": (bytes, scanned, texts) => {
        const shift = bytes.length - lenient.decode(bytes).length;
        const edited = editBody(bytes, scanned, texts);
        if (shift === 0 || !edited.ok) return edited;
        return success(edited.value.map((part, i) => (i === 0 ? part.subarray(0, -shift) : part)));
      },
      "sets only the first member": (bytes, scanned, texts) =>
        editBody(bytes, scanned, new Map([...texts].slice(0, 1))),
      "sets other texts": (bytes, scanned, texts) =>
        editBody(
          bytes,
          scanned,
          new Map([...texts].map(([pointer, text]) => [pointer, `${text.toString()}x`])),
        ),
      "leaves out what cannot be set": (bytes, scanned, texts) => {
        const edited = editBody(bytes, scanned, texts);
        return edited.ok ? edited : success([bytes]);
      },
      "adds members that exist": (bytes, _scanned, texts) => {
        const empty = scanBody(bytesOf("{}"), [...texts.keys()]);
        return empty.ok ? editBody(bytes, empty.value, texts) : empty;
      },
    },
    check: ([{ bytes, paths }, text], subject) => {
      const members = apart(paths);
      const scan = scanBody(bytes, members.map(pointerOf));
      const body = objectOf(bytes);
      if (!scan.ok || body === null) return false;
      const texts = new Map(members.map((names) => [pointerOf(names), text]));
      const edited = subject(bytes, scan.value, texts);
      const expected = members.reduce<JsonObject | null>(
        (object, names) => object && withMember(object, names, text),
        body.value,
      );
      if (edited.ok !== (expected !== null)) throw new Error(edited.ok ? "was set" : "was refused");
      if (!edited.ok || expected === null) return false;
      const value: JsonValue = JSON.parse(strict.decode(bytesOf(...edited.value)));
      if (!jsonEqual(value, expected)) throw new Error("another member has changed");
      const spans = members.flatMap((names) =>
        [spanOf(body.text, names)].filter((span) => span !== null),
      );
      const replaced = spans.toSorted(([a], [b]) => a - b);
      if (JSON.stringify(gapsBetween(bytes, edited.value)) !== JSON.stringify(replaced)) {
        throw new Error("other bytes were replaced");
      }
      return true;
    },
  },
);

/** Returns a reader of lists whose result is changed. */
const ofList =
  (change: (list: readonly JsonValue[]) => readonly JsonValue[] | null): ReadList =>
  (...args) => {
    const list = listIn(...args);
    return list === null ? null : change(list);
  };

fuzz(
  "the relay reads a short list in a submission's body with the values that JSON.parse reads, and reads no other member as a list",
  {
    inputs: bodies,
    subject: listIn,
    defects: {
      "reads no list": () => null,
      "loses the last value": ofList((list) => list.slice(0, -1)),
      "takes an empty list for none": ofList((list) => (list.length === 0 ? null : list)),
      "takes a value for a list": (bytes, scanned, pointer) => {
        const found = scanned.members.get(pointer);
        return found?.kind === "scalar" ? [found.value] : listIn(bytes, scanned, pointer);
      },
    },
    check: ({ bytes, paths }, subject) => {
      const scan = scanBody(bytes, paths.map(pointerOf));
      const body = objectOf(bytes);
      if (!scan.ok || body === null) return false;
      const isRead = paths.map((names) => {
        const list = subject(bytes, scan.value, pointerOf(names));
        const value = memberOf(body.value, names);
        const isList = Array.isArray(value);
        if (list === null && isList && bytes.length < MAX_SCALAR_CHARS) {
          throw new Error("a list was not read");
        }
        if (list !== null && !(isList && jsonEqual(list, value))) throw new Error("no such list");
        return isList;
      });
      return isRead.includes(true);
    },
  },
);

it.each(
  withNames([" ", "\\u0061", '\\"', "é", "1,", "[],", '"model', '{"":0},', '"m":[1e9],', "[", "-"]),
)("the body of a submission is read in linear time when %s is repeated in it", (_, part) => {
  for (const [before, after] of [
    ['{"a":"', '"}'],
    ['{"a":[', "0]}"],
    ["{", '"a":1}'],
  ]) {
    expectLinear((length) => {
      const bytes = bytesOf(`${before}${repeated(part, length)}${after}`);
      return () => scanBody(bytes, ["/model", "/a"]);
    }, 16_384);
  }
});
