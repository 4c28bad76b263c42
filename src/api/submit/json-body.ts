/**
 * Reads single members of the JSON body of a submission, and sets members in it. The body is edited as text, because
 * parsing and writing it would damage values that JavaScript cannot represent, e.g. integers beyond 2^53. The body is
 * never held as a tree of objects, because many small values would take many times the memory of their text.
 */
import { isLongInteger, type JsonValue } from "../../core/json.ts";
import { nameOfSegment } from "../../core/pointer.ts";
import { linkDigest, MAX_INPUT_LINKS } from "../../core/record/input-links.ts";
import { MAX_OUTPUT_URL_CHARS } from "../../core/record/upstream.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { JsonTokens, maxSpelledLength, type TokenKind } from "./json-tokens.ts";

/** Largest depth of nested objects and lists in a JSON body. The whole body is the first level. */
const MAX_LEVELS = 256;
/** Largest length in characters of a member's value that is read. Of a longer value, only its type is known. */
const MAX_SCALAR_CHARS = 1_024;
/** A text in a body counts as a link when it begins with these characters. */
const LINK = "http";

type Scalar = string | number | boolean | null;

/**
 * A watched member (one for which the scan looks) that the body has. It contains the value if this is a text, number,
 * true, false or null of at most 1,024 characters, and otherwise only the type of the value.
 */
export type Found =
  | {
      readonly kind: "scalar";
      readonly value: Scalar;
      /** Digits of an integer that is too long for `value` to be exact. Absent for any other value. */
      readonly digits?: string;
    }
  | { readonly kind: "object" | "array" | "long" };

/** Fault for which a body is refused, or because of which a member cannot be set. */
export interface BodyFault {
  /** JSON Pointer of the member; empty for the whole body. */
  readonly pointer: string;
  readonly message: string;
}

/**
 * The result of scanning a JSON body for certain members (the watched members). The body is one object, or a list with
 * only this object.
 */
export interface ScannedBody {
  /** The watched members (those for which the scan looked) that the body has, by JSON Pointer. */
  readonly members: ReadonlyMap<string, Found>;
  /**
   * JSON Pointers of the watched members whose names the body has in another letter case, e.g. `Model` for `model`.
   * Some upstreams, e.g. those written in Go, read such a member as the watched one.
   */
  readonly lookalikes: ReadonlySet<string>;
  /** Short hashes of the first 64 different links in the body (`linkDigest`). */
  readonly linkDigests: readonly string[];
  /** The object of the body, with the positions of the watched members. `editBody` needs it. */
  readonly root: Member;
}

/** Position of a value in a JSON body. */
interface Place {
  readonly kind: "object" | "array" | "scalar";
  readonly start: number;
  readonly end: number;
  /** Position at which an object can get a further member: after its last member, or after its opening brace. */
  readonly insertAt: number;
  /** True when the value is an object without members. */
  readonly isEmpty: boolean;
}

/** A member of a JSON body for which the scan looks (a watched member), or an object that contains such a member. */
interface Member {
  readonly pointer: string;
  /** Direct members of this member that are watched or contain a watched member, by name. */
  readonly members: ReadonlyMap<string, Member>;
  /** Position of the member in the body, in bytes. Null when the body does not have the member. */
  readonly place: Place | null;
}

/** A member of a JSON body while the body is scanned for it. Its position is in UTF-16 units until the scan ends. */
interface ScannedMember extends Member {
  readonly members: Map<string, ScannedMember>;
  /**
   * JSON Pointers of the members in `members`, by their names without differences of case (`foldedCase`). They are
   * computed once, so that the scan need not compute them for each name in the body.
   */
  readonly folded: Map<string, string>;
  /** Length of the longest name among `members`. */
  longestName: number;
  place: { -readonly [K in keyof Place]: Place[K] } | null;
}

/** The part of JSON's grammar that the scan of a body expects next. */
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

/**
 * Decoder for UTF-8 that can be shared, because it keeps no state between two texts. It keeps a byte order mark, so
 * that a body with one is refused.
 */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Scans a JSON body for the watched members. Fails when the body is not strict JSON in UTF-8, is not an object, or has
 * more than 256 levels; also when a watched member, or an object that contains one, occurs twice, because JSON readers
 * differ in which of the two they use.
 * @param watched JSON Pointers of members of objects. Digits in a pointer are the name of a member too, never an index
 * of a list.
 * @param isListOfOne true when the body must be a list with one object; the pointers then begin in this object.
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
 * Sets some members of a body, and returns the new body as a list of consecutive parts. All other bytes stay unchanged.
 * A missing member, or a missing object around it, is added at the end of its object. Fails when a member would have to
 * be set inside a value that is not an object.
 * @param texts values by JSON Pointer. Each pointer must have been watched when the body was scanned, and none may be
 * inside another.
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
 * Returns the items of a list that is a watched member.
 * @returns null when the member is missing or is not a list, or when the text of the list is too long to be read.
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

/**
 * Scans the tokens of a JSON text in one pass, and stores the positions of the watched members (those for which it
 * looks).
 */
class Scan {
  readonly lookalikes = new Set<string>();
  readonly linkDigests = new Set<string>();
  readonly #tokens: JsonTokens;
  /** The watched member whose value comes next in the text. Null when the next value is that of another member. */
  #next: ScannedMember | null;
  #expected: Expected;
  readonly #isListOfOne: boolean;
  #levels = 0;
  /** Type of the open object or list at each level: 1 for an object, 0 for a list. */
  readonly #isObject = new Uint8Array(MAX_LEVELS + 1);
  /** The watched members whose object or list is open, by level. Null at a level whose member is not watched. */
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
   * Returns the watched member whose name was just read.
   * @returns null when no watched member has this name.
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

/** A replacement of the bytes of a body from `start` to `end` by a text. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Plans the edits that set some members of an object, and adds them to `edits`.
 * @returns a fault when a member would have to be set inside a value that is not an object.
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

/**
 * Returns the JSON text of the members that must be added to an object so that it contains all values to be set; empty
 * when no member is missing.
 */
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
 * @throws Error when the scan of the body has not looked for the member, or when the member is inside another one that
 * is set too.
 */
function requireSettable(
  root: Member,
  pointer: string,
  texts: ReadonlyMap<string, NewValue>,
): void {
  let member: Member | undefined = root;
  for (const segment of segmentsOf(pointer)) {
    member = member.members.get(nameOfSegment(segment));
    if (member === undefined) throw new Error(`${pointer} was not watched`);
    if (member.pointer !== pointer && texts.has(member.pointer)) {
      throw new Error(`${pointer} is inside of ${member.pointer}, which is set too`);
    }
  }
}

/**
 * Returns a name without differences of case, for comparisons that ignore case. The long s (ſ) and the Kelvin sign (K)
 * become s and k.
 */
function foldedCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Returns the watched members as a tree, whose root stands for the whole body. */
function watchTree(watched: readonly string[]): ScannedMember {
  const root = memberAt("");
  for (const pointer of watched) {
    let member = root;
    for (const segment of segmentsOf(pointer)) member = memberIn(member, segment);
  }
  return root;
}

/** Returns a member to be watched, whose position in the body is not known yet. */
function memberAt(pointer: string): ScannedMember {
  return { pointer, members: new Map(), folded: new Map(), longestName: 0, place: null };
}

/**
 * Returns the member of `parent` that a segment of a JSON Pointer names. Adds it to the watched members when it is not
 * among them yet.
 */
function memberIn(parent: ScannedMember, segment: string): ScannedMember {
  const name = nameOfSegment(segment);
  const known = parent.members.get(name);
  if (known !== undefined) return known;
  const pointer = `${parent.pointer}/${segment}`;
  const member = memberAt(pointer);
  parent.members.set(name, member);
  parent.folded.set(foldedCase(name), pointer);
  parent.longestName = Math.max(parent.longestName, name.length);
  return member;
}

/**
 * Returns the segments of a JSON Pointer, still escaped.
 * @throws Error when the text is not the JSON Pointer of a member.
 */
function segmentsOf(pointer: string): readonly string[] {
  if (!/^(?:\/(?:[^~/]|~[01])*)+$/.test(pointer)) throw new Error(`${pointer} is no JSON Pointer`);
  return pointer.slice(1).split("/");
}

/**
 * Returns the watched members that a body has, by JSON Pointer. Their values are read from the bytes, because a part of
 * the decoded text would keep the whole text in memory.
 */
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

/** Converts the positions of a watched member, and of all watched members inside it, from UTF-16 units to bytes. */
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

/** Returns all watched members inside a member, at any depth. */
function insideOf<M extends { readonly members: ReadonlyMap<string, M> }>(member: M): readonly M[] {
  return [...member.members.values()].flatMap((inner) => [inner, ...insideOf(inner)]);
}

/**
 * Converts offsets in a text from UTF-16 units to bytes of its UTF-8.
 * @returns a map from each offset in units to the offset in bytes.
 */
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

/** Returns the length in bytes of the UTF-8 character that begins with this byte. */
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
