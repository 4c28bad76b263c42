import { parseJson } from "../core/json.ts";
import { segmentOf } from "../core/pointer.ts";
import {
  hasFileSignature,
  holdsData,
  isBase64,
  isBesideOutput,
  isDataUrl,
  isNoOutputType,
  MIN_FILE_CHARS,
  namesBase64,
  statesFile,
} from "./file-text.ts";
import { wordsOf } from "./member-words.ts";
import { phaseOf } from "./phase.ts";

/** The output of a finished job, if the answer contains no link to it: files inside the answer, or text. */
export interface UnlinkedOutput {
  /**
   * JSON Pointers to the files in the answer (`data:` URLs or base64), each file once, in the order of the answer. Null
   * stands for a file inside a string of JSON, which no pointer can reach.
   */
  readonly files: readonly (string | null)[];
  /**
   * True when the output is not a file: it is text or data (e.g. a transcription, the answer of a language model,
   * verdicts or scores), or the id of something that the job has made, e.g. of a voice.
   */
  readonly isText: boolean;
}

/** A value in an answer that has no members of its own: a string, a number, or an empty list or object. */
interface Leaf {
  readonly value: unknown;
  readonly pointer: string | null;
  /** Words in the name of the member that has this value, or whose list contains it. */
  readonly words: readonly string[];
  /**
   * Object to which the member with this value belongs. Null for a value in a list, and for an answer that is not an
   * object.
   */
  readonly owner: object | null;
  /** True when the value is inside a member whose name announces the output of a job. */
  readonly isOutput: boolean;
  /** True when the value is inside an object of the output that contains only verdicts or scores. */
  readonly isVerdict: boolean;
}

const MAX_DEPTH = 12;
/** Largest number of values in one answer that are examined to find the output. */
const MAX_VALUES = 20_000;

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words that show, at the end of a member's name, that the member contains the output of a job, of whatever kind. */
const OUTPUT_WORDS = setOf("output outputs result results prediction predictions response");
/** Words that show, at the end of a member's name, that the text in the member is an output. */
const TEXT_WORDS = setOf(
  "text texts transcript transcripts transcription transcriptions caption captions lyric lyrics answer answers reply " +
    "content completion translation translations summary subtitle subtitles markdown",
);
/** Words that show, at the end of a member's name, that the member is no output, even inside the output of a job. */
const NOTE_WORDS = setOf(
  "id ids uuid status state type kind model version message msg time date at name format size ratio resolution seed " +
    "code progress action mode quality reason object extension mime path filename subfolder language languages " +
    "title titles tags detail details width height duration seconds fps frames bytes count total index cost price",
);
/** Words that show, at the end of a member's name, that the member contains files or links. */
const FILE_WORDS = setOf(
  "image images video videos audio audios url urls uri uris link links file files media music song songs works " +
    "creations glb mesh outputs results",
);
/**
 * Words which, before `id` in the name of a member, show that the member contains the id of something that a job has
 * made for later calls.
 */
const MADE_WORDS = setOf("voice speaker template character avatar element persona cameo");
/** Pattern of the beginning of a link, also of one that the relay cannot deliver, e.g. `s3://`. */
const SCHEME = /^\s*[a-z][a-z\d+.-]{1,20}:\/\//i;

/** Returns the output in an answer about a finished job, if the answer contains no link to the output. */
export function unlinkedOutputIn(body: unknown): UnlinkedOutput {
  const files = new Map<unknown, string | null>();
  let isText = false;
  let isDrawn = false;
  let isLinked = false;
  for (const leaf of leavesIn(body)) {
    if (isFile(leaf)) {
      if (!files.has(leaf.value)) files.set(leaf.value, leaf.pointer);
    } else {
      isText ||= isTextOutput(leaf);
      isDrawn ||= isDrawing(leaf.value);
      isLinked ||= isPlaceOfLink(leaf);
    }
  }
  return { files: [...files.values()], isText: isDrawn || (isText && !isLinked) };
}

function* leavesIn(body: unknown): Generator<Leaf> {
  const stack: (Leaf & { readonly depth: number })[] = [
    {
      value: body,
      pointer: "",
      words: [],
      owner: null,
      isOutput: false,
      isVerdict: false,
      depth: 0,
    },
  ];
  for (let seen = 0; seen < MAX_VALUES; seen++) {
    const next = stack.pop();
    if (next === undefined) return;
    const inside = insideOf(next.value);
    if (inside === null) {
      yield next;
      continue;
    }
    const isWritten = typeof next.value === "string";
    if (isWritten) yield next;
    if (next.depth < MAX_DEPTH) stack.push(...membersOf(inside, next, isWritten).toReversed());
  }
}

/**
 * Returns a list or an object unchanged and, for a string of JSON, the list or object in it. Null when the list or
 * object is empty, and for any other value.
 */
function insideOf(value: unknown): object | null {
  const found = typeof value === "string" && /^\s*[[{]/.test(value) ? parseJson(value) : value;
  return typeof found === "object" && found !== null && !isEmpty(found) ? found : null;
}

function membersOf(
  value: object,
  { pointer, words, isOutput, depth }: Leaf & { readonly depth: number },
  isWritten: boolean,
) {
  if (isNoOutputType(Reflect.get(value, "type"))) return [];
  const isList = Array.isArray(value);
  const isVerdict = !isList && isOutput && hasOnlyVerdicts(value);
  const entries: readonly [string, unknown][] = Object.entries(value);
  return entries.slice(0, MAX_VALUES).flatMap(([name, member]) => {
    const named = isList ? words : wordsOf(name);
    if (!isList && named.some(isBesideOutput)) return [];
    const place = isWritten || pointer === null ? null : `${pointer}/${segmentOf(name)}`;
    const owner = isList ? null : value;
    const isWithin = isOutput || namesOutput(named);
    return {
      value: member,
      pointer: place,
      words: named,
      owner,
      isOutput: isWithin,
      isVerdict,
      depth: depth + 1,
    };
  });
}

/**
 * Tells whether an object contains only verdicts, e.g. of a moderator: flags and numbers, each under the name of what
 * is judged, as in `{"violence": true, "hate": false}`. False when a name contains a word for a file, for a property of
 * a file or for the end of a job, because the output is then elsewhere.
 */
function hasOnlyVerdicts(object: object): boolean {
  return Object.entries(object).every(([name, value]: [string, unknown]) => {
    if (typeof value !== "boolean" && typeof value !== "number") return false;
    const words = wordsOf(name);
    const last = lastOf(words);
    if (NOTE_WORDS.has(last) || FILE_WORDS.has(last) || phaseOf(last) === "completed") return false;
    return !words.some(isBesideOutput);
  });
}

function namesOutput(words: readonly string[]): boolean {
  const [last = "", before = ""] = words.toReversed();
  if (words.includes("structured")) return true;
  return (
    OUTPUT_WORDS.has(last) || (/^(?:json|object|data)$/.test(last) && OUTPUT_WORDS.has(before))
  );
}

function isFile({ value, words, owner }: Leaf): boolean {
  if (typeof value !== "string") return false;
  if (isDataUrl(value)) return true;
  if (!isBase64(value)) return false;
  const isLong = value.length >= MIN_FILE_CHARS && !NOTE_WORDS.has(lastOf(words));
  return isLong || namesBase64(words) || isStatedBase64(words, owner) || hasFileSignature(value);
}

/** Tells whether another member of the same object says that a string is a file. */
function isStatedBase64(words: readonly string[], owner: object | null): boolean {
  if (owner === null || !holdsData(words)) return false;
  return Object.entries(owner).some(([name, value]) => statesFile(name, value));
}

/**
 * Tells whether a value is a link, or an empty member that is meant for a link. Any text in the same answer is then no
 * output: it may be a title, the prompt or a message, and the link to the file may come later.
 */
function isPlaceOfLink({ value, words, isOutput }: Leaf): boolean {
  const isNamed = FILE_WORDS.has(lastOf(words));
  if (isEmpty(value)) return isNamed;
  return (isNamed || isOutput) && typeof value === "string" && SCHEME.test(value);
}

function isTextOutput({ value, words, isOutput, isVerdict }: Leaf): boolean {
  const last = lastOf(words);
  if (isEmpty(value)) return false;
  if (typeof value !== "string") return isVerdict || /^(?:output|prediction)s?$/.test(last);
  if (/^ids?$/.test(last)) return MADE_WORDS.has(words.at(-2) ?? "");
  if (/^(?:modality|output_type|result_type)$/.test(words.join("_"))) return value === "text";
  if (last === "json" && insideOf(value) === null) return false;
  return (TEXT_WORDS.has(last) || (isOutput && !NOTE_WORDS.has(last))) && !isNote(value);
}

/**
 * Tells whether a string is the path of a drawing (https://www.w3.org/TR/SVG2/paths.html), e.g. the outline of a mask.
 * Such a path counts as an output even when the result also has an empty member for a picture, because some models fill
 * that member only on demand.
 */
function isDrawing(value: unknown): boolean {
  if (typeof value !== "string") return false;
  return /^\s*M\s*-?\d[\d.]*[\s,]+-?\d[\d\s.,e+-]*[ACHLMQSTVZ][\d\s.,e+ACHLMQSTVZ-]*$/i.test(
    value.slice(0, MIN_FILE_CHARS),
  );
}

/** Tells whether a string is a link, the path of a file or the state of a job; none of these is an output. */
function isNote(text: string): boolean {
  return SCHEME.test(text) || /^\S+\.\w{2,5}$/.test(text) || phaseOf(text) !== null;
}

/** Tells whether a value has no content, e.g. `""`, `[]` or the string `"{}"`, which is JSON. */
function isEmpty(value: unknown): boolean {
  if (typeof value === "string") return /^(?:|\{\s*\}|\[\s*\]|null)$/.test(value.trim());
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function lastOf(words: readonly string[]): string {
  return words.at(-1) ?? "";
}
