/**
 * Reads single members of the JSON body of a submission, and sets members in it. A body is edited as text, because
 * parsing and writing it would damage what JavaScript cannot hold, e.g. integers beyond 2^53. It is never held as a
 * tree, because many small values take many times the memory of their text.
 */
import { isLongInteger, type JsonValue } from "../../core/json.ts";
import { linkDigest, MAX_INPUT_LINKS } from "../../core/record/input-links.ts";
import { MAX_OUTPUT_URL_CHARS } from "../../core/record/upstream.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { JsonTokens, maxSpelledLength, type TokenKind } from "./json-tokens.ts";

/** Largest number of objects and lists around a value, the whole body included. */
const MAX_LEVELS = 256;
/** Length in characters up to which the value of a member is read. */
const MAX_SCALAR_CHARS = 1_024;
/** Beginning of a text that is a link, as bodies spell it. */
const LINK = "http";

type Scalar = string | number | boolean | null;

/** A member that was found: its value if it is a scalar of at most 1,024 characters, else only its kind. */
export type Found =
  | {
      readonly kind: "scalar";
      readonly value: Scalar;
      /** Digits of an integer that `value` has rounded. Absent for any other value. */
      readonly digits?: string;
    }
  | { readonly kind: "object" | "array" | "long" };

/** Why a body is refused, or a member of it cannot be set. */
export interface BodyFault {
  /** JSON Pointer of the member; empty for the whole body. */
  readonly pointer: string;
  readonly message: string;
}

/** A body that is a JSON object, or a list with one, with the watched members of this object. */
export interface ScannedBody {
  /** The watched members that the body has, by JSON Pointer. */
  readonly members: ReadonlyMap<string, Found>;
  /**
   * JSON Pointers of watched members to which another name in the body is equal but for the case of its letters. Some
   * upstreams take such a name for the member, e.g. those that are written in Go.
   */
  readonly lookalikes: ReadonlySet<string>;
  /** Digests of the first 64 links in the body, each once (`linkDigest`). */
  readonly linkDigests: readonly string[];
  /** The object, with the places of the watched members, for `editBody`. */
  readonly root: Member;
}

/** Where a value stands in the body. */
interface Place {
  readonly kind: "object" | "array" | "scalar";
  readonly start: number;
  readonly end: number;
  /** Where an object takes a further member: after its last member, or after its opening brace. */
  readonly insertAt: number;
  /** True for an object without members. */
  readonly isEmpty: boolean;
}

/** A watched member, or an object around one. */
interface Member {
  readonly pointer: string;
  /** Watched members of it, by name. */
  readonly members: ReadonlyMap<string, Member>;
  /** Place in bytes. Null when the body does not have the member. */
  readonly place: Place | null;
}

/** A member while the text is scanned. Its place is in UTF-16 units until the end. */
interface ScannedMember extends Member {
  readonly members: Map<string, ScannedMember>;
  /** Pointers of `members` by their names in folded case, so that no name of the body makes the scan fold them again. */
  readonly folded: Map<string, string>;
  /** Length of the longest name of `members`. */
  longestName: number;
  place: { -readonly [K in keyof Place]: Place[K] } | null;
}

/** Part of the JSON grammar that may come next. */
type Expected =
  | "the body"
  | "a list"
  | "its object"
  | "the end of the list"
  | "value"
  | "value or ]"
  | "name"
  | "name or }"
  | ":"
  | ", or }"
  | ", or ]"
  | "end";

const LIST_OF_ONE = "must be a JSON list of one object, because each task is one job";

/** Decoder that keeps no state between two texts, and keeps a byte order mark, which is refused. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Scans a JSON body. Fails when it is not strict JSON in UTF-8, is no object, has more than 256 levels, or names a
 * watched member, or an object around one, twice, because readers differ in which of the two they take.
 * @param watched JSON Pointers of members of objects. A name of digits is a member too, never the index of a list.
 * @param isListOfOne true for a body that is a list with one object, in which the pointers begin.
 */
export function scanBody(
  bytes: Uint8Array,
  watched: readonly string[],
  isListOfOne = false,
): Result<ScannedBody, BodyFault> {
  const text = decoded(bytes);
  if (text === null) return failure(ofBody("must be UTF-8"));
  if (text.startsWith("\ufeff")) return failure(ofBody("must not begin with a byte order mark"));
  const root = watchTree(watched);
  const scan = new Scan(text, root, isListOfOne);
  const fault = scan.run();
  if (fault === "syntax") {
    const at = byteOffsets(bytes, [scan.offset]).get(scan.offset) ?? 0;
    return failure(ofBody(`must be JSON as in RFC 8259, which it is not from byte ${at + 1} on`));
  }
  if (fault !== null) return failure(fault);
  if (text.length !== bytes.length) convertPlaces(bytes, root);
  const { lookalikes, linkDigests } = scan;
  const members = foundMembers(bytes, root, watched);
  return success({ members, lookalikes, linkDigests: [...linkDigests], root });
}

/** Value to which a member is set: a text, or a list of texts. */
export type NewValue = string | readonly string[];

/**
 * Returns the body with these members set, as parts that follow each other; everything else stays byte for byte. A
 * member that is missing is added at the end of its object, which is added too where it is missing. Fails when a
 * member is to be set inside something that is not an object.
 * @param texts values by JSON Pointer, each of which was watched when the body was scanned; none may be inside another.
 */
export function editBody(
  bytes: Uint8Array,
  { root }: ScannedBody,
  texts: ReadonlyMap<string, NewValue>,
): Result<readonly Uint8Array[], BodyFault> {
  for (const pointer of texts.keys()) requireSettable(root, pointer, texts);
  const edits: Edit[] = [];
  const fault = planEdits(root, texts, edits);
  if (fault !== null) return failure(fault);
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let end = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(bytes.subarray(end, edit.start), encoder.encode(edit.text));
    end = edit.end;
  }
  return success([...parts, bytes.subarray(end)].filter(({ length }) => length > 0));
}

/**
 * Returns the values in the list that a watched member is. Null when the member is missing or no list, and when the list
 * is longer than a value that is read.
 */
export function listIn(
  bytes: Uint8Array,
  { root }: ScannedBody,
  pointer: string,
): readonly JsonValue[] | null {
  const place = insideOf(root).find((member) => member.pointer === pointer)?.place ?? null;
  if (place?.kind !== "array" || place.end - place.start > maxSpelledLength(MAX_SCALAR_CHARS)) {
    return null;
  }
  const list: readonly JsonValue[] = JSON.parse(
    UTF8.decode(bytes.subarray(place.start, place.end)),
  );
  return list;
}

/** Reads the tokens of a text in one pass, and fills in the places of the watched members. */
class Scan {
  readonly lookalikes = new Set<string>();
  readonly linkDigests = new Set<string>();
  readonly #tokens: JsonTokens;
  /** The member whose value comes next. Null for one that is not watched. */
  #next: ScannedMember | null;
  #expected: Expected;
  readonly #isListOfOne: boolean;
  #levels = 0;
  /** 1 for an object, 0 for a list, by level. */
  readonly #isObject = new Uint8Array(MAX_LEVELS + 1);
  /** Open objects and lists that are watched, by level. */
  readonly #open: (ScannedMember | null)[] = [];

  constructor(text: string, root: ScannedMember, isListOfOne: boolean) {
    this.#tokens = new JsonTokens(text);
    this.#isListOfOne = isListOfOne;
    this.#expected = isListOfOne ? "a list" : "the body";
    this.#next = root;
  }

  /** Offset of the token that was read last, in UTF-16 units. */
  get offset(): number {
    return this.#tokens.start;
  }

  run(): BodyFault | "syntax" | null {
    for (;;) {
      const token = this.#tokens.next();
      if (token === "end" && this.#expected === "end") return null;
      const fault = this.#take(token);
      if (fault !== null) return fault;
    }
  }

  #take(token: TokenKind): BodyFault | "syntax" | null {
    switch (this.#expected) {
      case "the body":
        return token === "{" ? this.#enter("{") : ofBody("must be a JSON object");
      case "a list":
      case "its object":
      case "the end of the list":
        return this.#takeListOfOne(token, this.#expected);
      case "value or ]":
        return token === "]" ? this.#leave() : this.#takeValue(token);
      case "value":
        return this.#takeValue(token);
      case "name or }":
        return token === "}" ? this.#leave() : this.#takeName(token);
      case "name":
        return this.#takeName(token);
      case ":":
        return token === ":" ? this.#expect("value") : "syntax";
      case ", or }":
        if (token === "}") return this.#leave();
        return token === "," ? this.#expect("name") : "syntax";
      case ", or ]":
        if (token === "]") return this.#leave();
        return token === "," ? this.#expect("value") : "syntax";
      case "end":
        return "syntax";
    }
  }

  #takeListOfOne(
    token: TokenKind,
    expected: "a list" | "its object" | "the end of the list",
  ): BodyFault | null {
    if (expected === "a list" && token === "[") return this.#expect("its object");
    if (expected === "its object" && token === "{") return this.#enter("{");
    if (expected === "the end of the list" && token === "]") return this.#expect("end");
    return ofBody(LIST_OF_ONE);
  }

  #expect(expected: Expected): null {
    this.#expected = expected;
    return null;
  }

  #takeName(token: TokenKind): BodyFault | "syntax" | null {
    if (token !== "string") return "syntax";
    this.#next = this.#memberNamed();
    if (this.#next !== null && this.#next.place !== null) {
      return { pointer: this.#next.pointer, message: "must not be named twice" };
    }
    return this.#expect(":");
  }

  /**
   * Returns the member that the scan looks for under the name that was just read. Null when it looks for none of this
   * name.
   */
  #memberNamed(): ScannedMember | null {
    const parent = this.#open[this.#levels] ?? null;
    if (parent === null) return null;
    const name = this.#tokens.stringUpTo(parent.longestName);
    if (name === null) return null;
    const member = parent.members.get(name);
    if (member === undefined) this.#noteLookalike(parent, name);
    return member ?? null;
  }

  #noteLookalike(parent: ScannedMember, name: string): void {
    const pointer = parent.folded.get(foldedCase(name));
    if (pointer !== undefined) this.lookalikes.add(pointer);
  }

  #takeValue(token: TokenKind): BodyFault | "syntax" | null {
    if (token === "{" || token === "[") return this.#enter(token);
    if (token !== "string" && token !== "number" && token !== "word") return "syntax";
    if (this.#next !== null) this.#next.place = this.#placeOf("scalar");
    if (token === "string") this.#noteLink();
    return this.#afterValue();
  }

  #noteLink(): void {
    if (this.linkDigests.size >= MAX_INPUT_LINKS || !this.#tokens.beginsWith(LINK)) return;
    const link = this.#tokens.stringUpTo(MAX_OUTPUT_URL_CHARS);
    if (link !== null) this.linkDigests.add(linkDigest(link));
  }

  #placeOf(kind: Place["kind"]): Place {
    const { start, end } = this.#tokens;
    return { kind, start, end, insertAt: end, isEmpty: true };
  }

  #enter(token: "{" | "["): BodyFault | null {
    if (this.#levels === MAX_LEVELS) return ofBody(`must not be nested deeper than ${MAX_LEVELS}`);
    this.#levels++;
    const isObject = token === "{";
    if (this.#next !== null) this.#next.place = this.#placeOf(isObject ? "object" : "array");
    this.#isObject[this.#levels] = isObject ? 1 : 0;
    this.#open[this.#levels] = this.#next;
    this.#next = null;
    return this.#expect(isObject ? "name or }" : "value or ]");
  }

  #leave(): null {
    const place = this.#open[this.#levels]?.place ?? null;
    if (place !== null) place.end = this.#tokens.end;
    this.#levels--;
    return this.#afterValue();
  }

  #afterValue(): null {
    this.#next = null;
    if (this.#levels === 0) {
      return this.#expect(this.#isListOfOne ? "the end of the list" : "end");
    }
    const place = this.#open[this.#levels]?.place ?? null;
    if (place !== null) {
      place.insertAt = this.#tokens.end;
      place.isEmpty = false;
    }
    return this.#expect(this.#isObject[this.#levels] === 1 ? ", or }" : ", or ]");
  }
}

/** A replacement of the bytes from `start` to `end`. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Plans the edits that set these values in an object. Returns a fault when a value is to be set inside something that
 * is not an object.
 */
function planEdits(
  object: Member,
  texts: ReadonlyMap<string, NewValue>,
  edits: Edit[],
): BodyFault | null {
  for (const member of object.members.values()) {
    const text = texts.get(member.pointer);
    const { place } = member;
    if (place === null) continue;
    if (text !== undefined) {
      edits.push({ start: place.start, end: place.end, text: JSON.stringify(text) });
    } else if (place.kind === "object") {
      const fault = planEdits(member, texts, edits);
      if (fault !== null) return fault;
    } else if (newMembers(member, texts) !== "") {
      return { pointer: member.pointer, message: "must be an object" };
    }
  }
  const added = newMembers(object, texts);
  if (added !== "" && object.place !== null) {
    const { insertAt, isEmpty } = object.place;
    edits.push({ start: insertAt, end: insertAt, text: isEmpty ? added : `,${added}` });
  }
  return null;
}

/** Returns the JSON text of the members that an object lacks and that these values need; empty when there are none. */
function newMembers(object: Member, texts: ReadonlyMap<string, NewValue>): string {
  const added: string[] = [];
  for (const [name, member] of object.members) {
    if (member.place !== null) continue;
    const text = texts.get(member.pointer);
    const inner = newMembers(member, texts);
    if (text !== undefined) added.push(`${JSON.stringify(name)}:${JSON.stringify(text)}`);
    else if (inner !== "") added.push(`${JSON.stringify(name)}:{${inner}}`);
  }
  return added.join(",");
}

/**
 * Checks that a member can be set.
 * @throws Error when the reading of the body was not told to find the member, or when the member is inside another one
 * that is set too.
 */
function requireSettable(
  root: Member,
  pointer: string,
  texts: ReadonlyMap<string, NewValue>,
): void {
  let member: Member | undefined = root;
  for (const segment of segmentsOf(pointer)) {
    member = member.members.get(nameOf(segment));
    if (member === undefined) throw new Error(`${pointer} was not watched`);
    if (member.pointer !== pointer && texts.has(member.pointer)) {
      throw new Error(`${pointer} is inside of ${member.pointer}, which is set too`);
    }
  }
}

/** Returns a name in which letters of different case are equal, the long s and the Kelvin sign included. */
function foldedCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Returns the member that stands for the whole body, with the watched ones in it. */
function watchTree(watched: readonly string[]): ScannedMember {
  const root = memberAt("");
  for (const pointer of watched) {
    let member = root;
    for (const segment of segmentsOf(pointer)) member = memberIn(member, segment);
  }
  return root;
}

/** Returns a member that the scan has not found yet. */
function memberAt(pointer: string): ScannedMember {
  return { pointer, members: new Map(), folded: new Map(), longestName: 0, place: null };
}

/** Returns the watched member of an object that a segment of a JSON Pointer names; adds it where it is missing. */
function memberIn(parent: ScannedMember, segment: string): ScannedMember {
  const name = nameOf(segment);
  const known = parent.members.get(name);
  if (known !== undefined) return known;
  const pointer = `${parent.pointer}/${segment}`;
  const member = memberAt(pointer);
  parent.members.set(name, member);
  parent.folded.set(foldedCase(name), pointer);
  parent.longestName = Math.max(parent.longestName, name.length);
  return member;
}

/** Returns the segments of the JSON Pointer of a member, as they are spelt. @throws Error for any other text. */
function segmentsOf(pointer: string): readonly string[] {
  if (!/^(?:\/(?:[^~/]|~[01])*)+$/.test(pointer)) throw new Error(`${pointer} is no JSON Pointer`);
  return pointer.slice(1).split("/");
}

function nameOf(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Returns what was found of the watched members, which are read from the bytes: a part of the text would keep all of it. */
function foundMembers(
  bytes: Uint8Array,
  root: Member,
  watched: readonly string[],
): ReadonlyMap<string, Found> {
  const isWatched = new Set(watched);
  const found = new Map<string, Found>();
  for (const { pointer, place } of insideOf(root)) {
    if (place !== null && isWatched.has(pointer)) found.set(pointer, foundAt(bytes, place));
  }
  return found;
}

function foundAt(bytes: Uint8Array, { kind, start, end }: Place): Found {
  if (kind !== "scalar") return { kind };
  if (end - start > maxSpelledLength(MAX_SCALAR_CHARS)) return { kind: "long" };
  const text = UTF8.decode(bytes.subarray(start, end));
  const value: Scalar = JSON.parse(text);
  const { length } = typeof value === "string" ? value : text;
  if (length > MAX_SCALAR_CHARS) return { kind: "long" };
  return { kind: "scalar", value, ...(isLongInteger(text) && { digits: text }) };
}

/** Converts the places of a member and of all in it from UTF-16 units to bytes. */
function convertPlaces(bytes: Uint8Array, root: ScannedMember): void {
  const places = [root, ...insideOf(root)].flatMap(({ place }) => (place === null ? [] : [place]));
  const units = places.flatMap(({ start, insertAt, end }) => [start, insertAt, end]);
  const offsets = byteOffsets(bytes, units);
  for (const place of places) {
    place.start = offsets.get(place.start) ?? place.start;
    place.insertAt = offsets.get(place.insertAt) ?? place.insertAt;
    place.end = offsets.get(place.end) ?? place.end;
  }
}

/** Lists the watched members inside of a member, at any depth. */
function insideOf<M extends { readonly members: ReadonlyMap<string, M> }>(member: M): readonly M[] {
  return [...member.members.values()].flatMap((inner) => [inner, ...insideOf(inner)]);
}

/** Returns the offsets in the bytes of a text that these offsets in UTF-16 units of the text have. */
function byteOffsets(bytes: Uint8Array, units: readonly number[]): ReadonlyMap<number, number> {
  const offsets = new Map<number, number>();
  let [byte, unit] = [0, 0];
  for (const target of units.toSorted((a, b) => a - b)) {
    while (unit < target) {
      const length = characterLength(bytes[byte] ?? 0);
      byte += length;
      unit += length === 4 ? 2 : 1;
    }
    offsets.set(target, byte);
  }
  return offsets;
}

/** Returns how many bytes the character has that begins with this byte of UTF-8. */
function characterLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function ofBody(message: string): BodyFault {
  return { pointer: "", message };
}
