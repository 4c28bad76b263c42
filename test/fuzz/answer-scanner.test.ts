import * as fc from "fast-check";
import { type Node, parseTree } from "jsonc-parser";
import { expect, it } from "vitest";
import { AnswerFault } from "../../src/objects/call/answer-fault.ts";
import { CUT_ESCAPE } from "../../src/objects/call/base64-decoder.ts";
import {
  hasFileSignature,
  holdsData,
  holdsOnlyBase64,
  isBase64,
  isBesideOutput,
  isNoFile,
  isNoOutputType,
  namesBase64,
  namesFile,
  statesFile,
} from "../../src/providers/file-text.ts";
import { wordsOf } from "../../src/providers/member-words.ts";
import { bytesOf, fromBase64, toBase64, toBase64Url } from "../../src/security/encoding.ts";
import { piecesOf, PNG, scanned } from "../core/answers.ts";
import { fuzz, rarely, weighted } from "./fuzz.ts";
import { expectLinear, repeated, withNames } from "./linear-time.ts";

/** Largest length of a string of which the whole decides whether it is a file. */
const MAX_HEAD_BYTES = 1_023;

interface Read {
  readonly skeleton: string;
  readonly files: readonly Uint8Array[];
}

const NAMES = [
  ..."b64_json url data inlineData inline_data audio mimeType type content input".split(" "),
  ..."thought thoughtSignature encrypted_content image text result é".split(" "),
];

const GOOGLE_NAMES = new Map([
  ["inlineData/data", ["fileData", "fileUri"]],
  ["inline_data/data", ["file_data", "file_uri"]],
]);

const fileBytes = fc
  .tuple(fc.boolean(), fc.uint8Array({ maxLength: 60 }), fc.constantFrom(1, 1, 30, 80))
  .map(([hasType, bytes, times]) => {
    const content = bytesOf(...Array.from({ length: times }, () => bytes));
    return hasType ? bytesOf(PNG.subarray(0, 70), content) : content;
  });

/** Generator of base64 as it stands in a JSON string, in the spellings of several encoders. */
const base64Text = fc
  .tuple(
    fileBytes,
    fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.replace(/=+$/, ""),
      (text) => text.replaceAll("/", String.raw`\/`),
      (text) => text.replaceAll("+", String.raw`\u002b`),
      (text) => text.replaceAll(/.{76}/g, String.raw`$&\r\n`),
      (text) => text.replaceAll(/.{60}/g, "$& "),
      (text) => toBase64Url(fromBase64(text)),
    ),
  )
  .map(([bytes, spelt]) => spelt(toBase64(bytes)));

const stringText = weighted(
  [4, base64Text],
  [1, base64Text.map((text) => `data:image/png;base64,${text}`)],
  [1, base64Text.map((text) => `a ![b](data:image/png;base64,${text}) [c](data:x) d`)],
  [2, fc.constantFrom("", "image", "base64", "audio/wav", "thought", "none", "é😀", "data:,a")],
  [1, fc.constantFrom(String.raw`a\"b\\`, String.raw`\u0062ase64`, "x y".repeat(600))],
).map((text) => `"${text}"`);

const blanks = weighted([5, fc.constant("")], [1, fc.constantFrom(" ", "\n  ")]);

/** Generator of the text of an answer in JSON. */
const answerText = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: weighted(
    [6, stringText],
    [2, tie("object")],
    [1, tie("list")],
    [1, fc.constantFrom("null", "-1.5e3", "true", "true")],
  ),
  list: fc.array(tie("value"), { maxLength: 3 }).map((values) => `[${values.join(", ")}]`),
  object: fc
    .tuple(
      fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 4 }),
      fc.array(tie("value"), { minLength: 4, maxLength: 4 }),
      blanks,
    )
    .map(([names, values, blank]) => {
      return `{${names.map((name, i) => `${blank}"${name}"${blank}:${blank}${values[i]}`).join(",")}}`;
    }),
})).object;

/** Generator of an answer, which may be cut short or have a wrong character, and of the sizes of its pieces. */
const answers = fc.record({
  text: fc
    .tuple(answerText, rarely(10, fc.nat()), fc.constantFrom("", "*", '"', "\\", "}", "="))
    .map(([text, place, inserted]) => {
      if (place === null) return text;
      const at = place % (text.length + 1);
      const rest = inserted === "" ? "" : inserted + text.slice(at);
      return (text.slice(0, at) + rest).toWellFormed();
    }),
  size: fc.constantFrom(1, 2, 7, 100, 1_023, 1_024, 1_025, 1_000_000),
});

/** A change of the text: between two places, and what stands there instead. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Members around a string, from the outermost on. A list counts as an object without a member. */
type Path = readonly { readonly object: Node; readonly key: Node | null }[];

/** Strings before a place in an answer that are no files. */
type Notes = ReadonlySet<Node>;

/** Reads an answer slowly, from its tree. Returns null when it cannot be read. */
function readSlowly(text: string): Read | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const root = parseTree(text);
  if (root === undefined) return null;
  const files: Uint8Array[] = [];
  const edits: Edit[] = [];
  const notes = new Set<Node>();
  for (const [string, path] of stringsIn(root, [])) {
    const raw = text.slice(string.offset + 1, string.offset + string.length - 1);
    const found = isBroken(raw, notes, path) ? null : filesIn(raw, notes, path);
    if (found === null) return null;
    if (found.every(({ isLink }) => isLink)) notes.add(string);
    const isThought = path.some(({ object }) => hasThought(object));
    for (const { start, end, bytes } of found) {
      const place = { start: string.offset + 1 + start, end: string.offset + 1 + end };
      if (isThought) {
        edits.push({ ...place, text: "" });
        continue;
      }
      files.push(bytes);
      edits.push({ ...place, text: `relay-output:t0:${files.length}` }, ...renamings(path));
    }
  }
  const ordered = [...new Map(edits.map((edit) => [edit.start, edit])).values()];
  const skeleton = ordered
    .toSorted((a, b) => b.start - a.start)
    .reduce(
      (before, edit) => before.slice(0, edit.start) + edit.text + before.slice(edit.end),
      text,
    );
  return { skeleton, files };
}

function* stringsIn(node: Node, path: Path): Generator<[Node, Path]> {
  if (node.type === "string") yield [node, path];
  for (const child of node.children ?? []) {
    const [key, value] = child.type === "property" ? (child.children ?? []) : [null, child];
    if (value !== undefined) yield* stringsIn(value, [...path, { object: node, key: key ?? null }]);
  }
}

/** Lists the files in a string. Returns null when one of them is broken. */
function filesIn(raw: string, notes: Notes, path: Path) {
  const found = [];
  for (const { start, end, isLink } of candidatesIn(raw)) {
    const json = raw.slice(start, end);
    const text: string = JSON.parse(`"${json}"`);
    const [url] = /^data:[^,]{0,200};base64,/i.exec(text) ?? [];
    const base64 = text.slice(url?.length ?? 0);
    if (!isBase64(base64) || isBeside(path, notes)) continue;
    if (url === undefined && (isLink || !isNamed(base64, path, notes))) continue;
    const bytes = decoded(base64);
    if (bytes !== null) found.push({ start, end, bytes, isLink });
    else if (bytesOf(json).length > MAX_HEAD_BYTES) return null;
  }
  return found;
}

/** Lists the places of the texts in a string that may be files: links of Markdown, and the whole string. */
function candidatesIn(raw: string) {
  const links = raw.matchAll(/(?<=\]\()data:[^,"]{0,200};base64,([^)"]*)\)/g);
  const whole = { start: 0, end: raw.length, isLink: false };
  return [
    ...Array.from(links, ({ index, 0: link }) => ({
      start: index,
      end: index + link.length - 1,
      isLink: true,
    })),
    whole,
  ];
}

/** Tells whether an object says that it is a thought. */
function hasThought({ children = [] }: Node): boolean {
  return children.some(({ children: [key, value] = [] }) => {
    return key?.value === "thought" && value?.value === true;
  });
}

/** Tells whether a string is in a member that can hold nothing but base64, and is a broken file or has a link to one. */
function isBroken(raw: string, notes: Notes, path: Path): boolean {
  const isOnlyFile = holdsOnlyBase64(nameOf(path), nameOf(path.slice(0, -1)));
  if (!isOnlyFile || isBeside(path, notes)) return false;
  const links = Array.from(raw.matchAll(/(?<=\]\()data:[^)]*/g), ([link]) => link);
  return (links.length > 0 ? links : [raw]).some((json) => {
    const text = uncut(json);
    const base64 = text.replace(/^data:[^,]{0,200};base64,/i, "");
    const isFile = isBase64(base64) && (base64 !== text || isNamed(base64, path, notes));
    return !isNoFile(text) && (!isFile || decoded(base64) === null);
  });
}

/** Returns a text as a reader of its beginning reads it, to whom an escape at its end may be cut. */
function uncut(json: string): string {
  try {
    return JSON.parse(`"${json.replace(CUT_ESCAPE, "")}"`);
  } catch {
    return "";
  }
}

function decoded(base64: string): Uint8Array | null {
  try {
    return fromBase64(base64.replaceAll(/[\t\n\f\r ]/g, ""));
  } catch {
    return null;
  }
}

function nameOf(path: Path): string {
  const key = path.findLast((step) => step.key !== null)?.key;
  return String(key?.value ?? "");
}

/** Lists the members of an object whose strings say something about it. */
function notesIn(object: Node, notes: Notes): [string, string][] {
  return (object.children ?? []).flatMap(({ children: [key, value] = [] }) => {
    const isNote = value !== undefined && notes.has(value) && value.length <= 130;
    return isNote ? [[String(key?.value), String(value.value)]] : [];
  });
}

function isBeside(path: Path, notes: Notes): boolean {
  return path.some(({ object, key }) => {
    const isNoOutput = notesIn(object, notes).some(
      ([name, value]) => name === "type" && isNoOutputType(value),
    );
    return isNoOutput || wordsOf(String(key?.value ?? "")).some(isBesideOutput);
  });
}

function isNamed(base64: string, path: Path, notes: Notes): boolean {
  const words = wordsOf(nameOf(path));
  if (namesBase64(words) || hasFileSignature(base64)) return true;
  const place = path.at(-1);
  if (place === undefined || place.key === null || !holdsData(words)) return false;
  const around = nameOf(path.slice(0, -1));
  if (/^inline_?data$/i.test(around) || namesFile(wordsOf(around))) return true;
  return notesIn(place.object, notes).some(([name, value]) => statesFile(name, value));
}

/** Lists the new names that the members around a file get. */
function renamings(path: Path): readonly Edit[] {
  const [around = null, own = null] = [path.at(-2), path.at(-1)].map((step) => step?.key ?? null);
  const [object, member] = GOOGLE_NAMES.get(`${around?.value}/${own?.value}`) ?? [];
  const edits = [...renaming(around, object), ...renaming(own, member)];
  if (own?.value !== "b64_json") return edits;
  return [...renaming(own, "url"), ...renaming(urlBeside(own), "source_url")];
}

/** Returns the name of the member `url` in the object of another name. */
function urlBeside(key: Node): Node | null {
  const members = key.parent?.parent?.children ?? [];
  const keys = members.flatMap(({ children: [name] = [] }) => name ?? []);
  return keys.find(({ value }) => value === "url") ?? null;
}

function renaming(key: Node | null, text: string | undefined): readonly Edit[] {
  if (key === null || text === undefined) return [];
  return [{ start: key.offset + 1, end: key.offset + key.length - 1, text }];
}

type Scan = typeof scanned;

const ofSkeleton =
  (change: (text: string) => string): Scan =>
  (pieces) => {
    const read = scanned(pieces);
    return { ...read, skeleton: change(read.skeleton) };
  };

fuzz(
  "an answer in JSON that arrives in any pieces is divided into files and a skeleton exactly as a reader of its whole tree divides it",
  {
    cases: 60_000,
    inputs: answers,
    subject: scanned,
    defects: {
      "looks at each piece alone": (pieces) => {
        const reads = pieces.map((piece) => scanned([piece]));
        const skeleton = reads.map((read) => read.skeleton).join("");
        return { skeleton, files: reads.flatMap(({ files }) => files) };
      },
      "loses the last bytes of a file": (pieces) => {
        const { skeleton, files } = scanned(pieces);
        return { skeleton, files: files.map((file) => file.subarray(0, -1)) };
      },
      "loses files": (pieces) => ({ ...scanned(pieces), files: [] }),
      "takes a broken answer": (pieces) => {
        try {
          return scanned(pieces);
        } catch {
          return { skeleton: "", files: [] };
        }
      },
      "renames nothing": ofSkeleton((text) => text.replaceAll('"fileData"', '"inlineData"')),
      "keeps thoughts": (pieces) => {
        const text = new TextDecoder().decode(bytesOf(...pieces));
        return scanned([bytesOf(text.replaceAll(/"thought"(\s*:\s*true)/g, '"thoughs"$1'))]);
      },
      "renames every url": ofSkeleton((text) => text.replaceAll('"url"', '"source_url"')),
      "writes the answer anew": ofSkeleton((text) => JSON.stringify(JSON.parse(text))),
      "leaves out what is not ASCII": ofSkeleton((text) => text.replaceAll(/[^\0-\x7f]/g, "")),
      "refuses every second answer with files": (pieces) => {
        const read = scanned(pieces);
        if (read.files.length > 1) throw new AnswerFault("broken");
        return read;
      },
    },
    check: ({ text, size }, subject) => {
      const expected = readSlowly(text);
      let read: Read | null = null;
      try {
        read = subject(piecesOf(bytesOf(text), size));
      } catch (error) {
        if (!(error instanceof AnswerFault)) throw error;
      }
      expect(read).toEqual(expected);
      return read !== null && read.files.length > 0;
    },
  },
);

it.each(
  withNames([
    '"',
    '\\"',
    "\\",
    "\\u0041",
    "QUJD",
    "QU ",
    "{",
    "[",
    '"a":',
    "[],",
    '{"b64":"QUJD"},',
    "](data:",
    "](data:;base64,QUJD)",
  ]),
)("an answer that repeats %s is scanned in linear time", (_, part) => {
  for (const [before, after] of [
    ['{"b64_json":"', '"}'],
    ['{"text":"é', '"}'],
    ['{"list":[', "0]}"],
    ["{", '"a":1}'],
  ]) {
    expectLinear((length) => {
      const pieces = piecesOf(bytesOf(`${before}${repeated(part, length)}${after}`), 1_000);
      return () => {
        try {
          return scanned(pieces);
        } catch (error) {
          if (!(error instanceof AnswerFault)) throw error;
          return null;
        }
      };
    }, 16_384);
  }
});
