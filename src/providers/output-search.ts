import { parseJson } from "../core/json.ts";
import { isHttpUrl } from "../core/url.ts";
import { at } from "./json-fields.ts";
import { isNoOutputWord, isPreviewWord, wordsOf } from "./member-words.ts";

/** The parts of a provider's answer that are searched for links to the outputs of a job. */
export interface OutputPlaces {
  /**
   * Values of the members that the vendor documents for outputs, the main output first. They are links, or lists and
   * objects that contain links. A value that is itself a link counts as an output whatever the name of its member is.
   */
  readonly main: readonly unknown[];
  /**
   * The part of the answer that describes only the output, and not the job. Every further link in it counts as an
   * output too, in the order of the answer. Absent when all outputs are in `main`.
   */
  readonly part?: unknown;
  /**
   * Tells whether a member is no output although its name does not show this, e.g. because the vendor's documents call
   * it a preview.
   * @param owner the object to which the member belongs.
   */
  readonly isLeftOut?: (name: string, owner: object) => boolean;
}

/** A text that was found among the outputs in an answer. */
export interface FoundText {
  readonly text: string;
  /** Name of the member that has the text as its value or in a list. Empty when there is no such member. */
  readonly name: string;
  /**
   * True when the text was found in the members that the vendor documents for outputs (`main`); false when it was found
   * elsewhere in the output (`part`).
   */
  readonly isMain: boolean;
}

/**
 * Function that tells whether a text is one of those that are searched for.
 * @param isPlace true when the text itself is the value of a documented member, and not a part of an object there.
 */
export type IsWanted = (text: string, isPlace: boolean) => boolean;

/** Largest depth of nested lists and objects that is searched. */
const MAX_DEPTH = 16;
/** Largest number of texts that are found. It is above the largest number of outputs of a task. */
const MAX_FOUND = 2_000;
/** Largest length in characters of a text that is read as JSON, and of a name that is examined. */
const MAX_JSON_CHARS = 262_144;
const MAX_NAME_CHARS = 64;
/**
 * Pattern of the last separator character before a link in a text that is a list of links. The text is divided there.
 * Earlier characters of the separator (`REST_OF_SEPARATOR`) are then left at the end of the previous link.
 */
const BETWEEN_LINKS = /[\s,;|](?=https?:\/\/)/i;
const REST_OF_SEPARATOR = /[\s,;|]{1,4}$/;

/**
 * Pattern of the names of pictures and clips that show a 3D model. They are no output when the same object contains the
 * model.
 */
const RENDER = /^render(?:ed|s)?(?: (?:image|img|photo|pic|picture|video)s?)(?: ur[il]s?)?$/;
/** Pattern of the words in names of members that contain 3D models. */
const MODEL = /^(?:fbx|glb|gltf|mesh|meshes|model|models|obj|ply|stl|usdz)$/;
/**
 * Name of a member that is no output when its value is a string, but may contain outputs when its value is an object
 * (`{"status": {"files": …}}`).
 */
const STATUS = "status";
/** Pattern of the words that, after `source` in the name of a member, show that the member is a file of the request. */
const MEDIA = /^(?:audio|file|image|img|photo|picture|video)s?$/;
/** Names of members whose links lead to the upstream's API and not to an output. Only whole names count. */
const API_LINKS: readonly string[] = ["api_url", "base_url", "get", "response_url", "self"];
/**
 * Names of links that lead to calls of the upstream's API. If one link in an object has such a name, all links in the
 * object lead to such calls, e.g. in `{"get": …, "cancel": …}`.
 */
const CALLS: readonly string[] = ["cancel", "get", "self", "status"];
/** Names of the members in which objects state what their file is for. */
const KINDS: readonly string[] = ["kind", "purpose", "role", "type"];
/** Values of the member `rel` of a link (its relation to the answer) for which the link may lead to an output. */
const OUTPUT_RELATIONS =
  /^(?:audio|content|download|enclosure|file|image|media|output|result|video)s?$/;
/**
 * Pattern of the words that, in the `type` or a similar member of an object, show that the object is no output: it is a
 * temporary file of the upstream (ComfyUI), or a file of the request.
 */
const NO_OUTPUT_KIND = /^(?:inputs?|prompts?|references?|requests?|temp|user)$/;
/**
 * Name of a list of previews. Such a list is the output itself when the answer has no other output, e.g. for voices to
 * choose from.
 */
const PREVIEWS = "previews";

/**
 * Returns the links to the outputs in an answer, each once: first those in `main`, then all others in `part`, in the
 * order of the answer. Covers, previews, thumbnails, links that repeat the request and links that lead to no file are
 * left out. They are recognised by the names of their members and by the `type` of their objects. A text that contains
 * JSON, or a list of links, is searched too.
 */
export function outputLinks(places: OutputPlaces): readonly string[] {
  const links = outputTexts(places, isLink).map(({ text }) => text);
  return [...new Set(links)];
}

/**
 * Returns those texts among the outputs of an answer that `isWanted` accepts, in the order of `outputLinks`. A text
 * that is in both `main` and `part` is returned twice.
 */
export function outputTexts(
  { main, part, isLeftOut = () => false }: OutputPlaces,
  isWanted: IsWanted,
): readonly FoundText[] {
  const searched = (isOut: Search["isOut"]) => {
    const found: FoundText[] = [];
    const search = { found, isOut, isWanted };
    for (const value of main) collect(value, "", true, MAX_DEPTH, { ...search, isMain: true });
    collect(part, "", false, MAX_DEPTH, { ...search, isMain: false });
    return found;
  };
  const isOut: Search["isOut"] = (name, owner) =>
    isNoOutputName(name, at(owner, name)) || isRenderOfModel(name, owner) || isLeftOut(name, owner);
  const found = searched(isOut);
  if (found.length > 0) return found;
  return searched((name, owner) => name !== PREVIEWS && isOut(name, owner));
}

/**
 * Tells whether an object states, e.g. by its member `type`, that it is no output: a preview, a temporary file, a part
 * of the request, or a link whose relation (`rel`) shows that it does not lead to an output, e.g. `self`.
 */
export function isNoOutputByKind(value: unknown): boolean {
  const relation = at(value, "rel");
  if (typeof relation === "string" && !OUTPUT_RELATIONS.test(relation)) return true;
  return KINDS.some((name) => {
    const kind = at(value, name);
    if (typeof kind !== "string" || kind.length > MAX_NAME_CHARS) return false;
    return wordsOf(kind).some((word) => NO_OUTPUT_KIND.test(word) || isPreviewWord(word));
  });
}

/** Tells whether a text is an http(s) URL as a whole, and not a sentence that begins with one. */
export function isLink(text: string): boolean {
  return isHttpUrl(text) && !/\s/.test(text.trim());
}

interface Search {
  readonly found: FoundText[];
  readonly isOut: (name: string, owner: object) => boolean;
  readonly isWanted: IsWanted;
  readonly isMain: boolean;
}

/**
 * Searches a value for wanted texts and adds them to those found before.
 * @param name name of the member that has this value.
 */
function collect(
  value: unknown,
  name: string,
  isPlace: boolean,
  depth: number,
  search: Search,
): void {
  if (search.found.length >= MAX_FOUND || depth === 0) return;
  if (typeof value === "string") {
    collectFromText(value, name, isPlace, depth, search);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, name, isPlace, depth - 1, search);
  } else if (typeof value === "object" && value !== null) {
    // The whole of an answer states no kind of file: its type is that of an event, or of the API's object.
    const isOut = depth < MAX_DEPTH && isNoOutputByKind(value);
    if (!isOut) collectFromObject(value, depth, search);
  }
}

function collectFromObject(object: object, depth: number, search: Search): void {
  const areCalls = hasCalls(object);
  for (const [name, member] of Object.entries(object)) {
    const isOut = search.isOut(name, object) || (areCalls && typeof member === "string");
    if (!isOut) collect(member, name, false, depth - 1, search);
  }
}

/**
 * Adds a text to those found before. If the text is a list of links (as JSON, or with commas between the links), each
 * link is added instead.
 */
function collectFromText(
  text: string,
  name: string,
  isPlace: boolean,
  depth: number,
  search: Search,
): void {
  if (/^\s*[[{]/.test(text) && text.length <= MAX_JSON_CHARS) {
    collect(parseJson(text), name, isPlace, depth - 1, search);
    return;
  }
  const parts = /^\s*http/i.test(text) ? text.trim().split(BETWEEN_LINKS) : [text];
  for (const part of parts) {
    const each = parts.length === 1 ? part : part.replace(REST_OF_SEPARATOR, "");
    if (!search.isWanted(each, isPlace)) continue;
    search.found.push({ text: each, name, isMain: search.isMain });
  }
}

/**
 * Tells whether the links in an object lead to calls of the upstream's API, because one of them has the name of such a
 * call.
 */
function hasCalls(object: object): boolean {
  return CALLS.some((name) => {
    const link = at(object, name);
    return typeof link === "string" && isHttpUrl(link);
  });
}

/** Tells whether the name of a member shows that the member is no output. */
function isNoOutputName(name: string, value: unknown): boolean {
  if (name.length > MAX_NAME_CHARS) return false;
  const words = wordsOf(name);
  if (API_LINKS.includes(words.join("_"))) return true;
  if (words.some((word) => isNoOutputWord(word) || isPreviewWord(word))) return true;
  if (words.includes(STATUS)) return words.length > 1 || typeof value === "string";
  return words[0] === "source" && MEDIA.test(words[1] ?? "");
}

/** Tells whether a member is a picture of the 3D model that the same object contains. */
function isRenderOfModel(name: string, owner: object): boolean {
  if (name.length > MAX_NAME_CHARS || !RENDER.test(wordsOf(name).join(" "))) return false;
  return Object.entries(owner).some(([other, value]) => {
    const isFile = typeof value === "string" ? isLink(value) : value !== null;
    return (
      isFile && other.length <= MAX_NAME_CHARS && wordsOf(other).some((word) => MODEL.test(word))
    );
  });
}
