/**
 * Links of the relay to outputs, i.e. to the files that a task has generated:
 * `{origin}/outputs/{task}/{n}/{token}.{ext}`. A token has the form `<expires>_<recorded>_<MAC>`; the MAC is an HMAC
 * over everything after `/outputs/` in the link. A link therefore gives access to one output of one task until it
 * expires, and to no output of a later task with the same id. The extension is taken from the upstream's link, before
 * any byte of the output is known. The media type of the answer does not depend on the extension but on the first bytes
 * of the output (core/output-metadata/media-type.ts).
 */
import { extensionOfType } from "../core/output-metadata/media-type.ts";
import { parseUrl } from "../core/url.ts";
import { type Bytes, bytesOf, fromBase64Url, toBase64Url } from "./encoding.ts";
import { type ImmediateHmacKey, signImmediately, verifyAny } from "./hmac.ts";

/** Path with which all links to outputs begin. */
export const OUTPUTS_PATH = "/outputs";

/** File extensions that the relay's link takes over from the upstream's own link. */
const EXTENSIONS: ReadonlySet<string> = new Set(
  [
    "mp4 webm mov mkv m4v mp3 wav ogg opus m4a aac flac",
    "png jpg jpeg webp gif avif svg glb gltf obj fbx usdz ply zip srt vtt",
  ].flatMap((line) => line.split(" ")),
);
/** Extension of the relay's link to an output when the upstream's own link has none of `EXTENSIONS`. */
export const OTHER_EXTENSION = "bin";

/** Pattern of the number of an output in a path, from 1. */
export const OUTPUT_NUMBER = /^[1-9]\d{0,3}$/;
/** Pattern of the last segment of a link to an output. It captures the two times, the MAC and the extension. */
const FILE = /^(\d{1,11})_(\d{1,15})_([\w-]{43})\.([a-z\d]{1,5})$/;
const MAC_BYTES = 32;

/** An output of a task, described by what the relay's link to it contains. */
export interface LinkedOutput {
  readonly taskId: string;
  /** Number of the output: its position in `output.urls`, counted from 1. */
  readonly number: number;
  /** Time from which the relay refuses the link, in Unix seconds. */
  readonly expiresAtS: number;
  /**
   * Time at which the relay first stored the task, in Unix milliseconds. It is different for two tasks with the same
   * id.
   */
  readonly recordedAt: number;
  /** Extension of the file, without the dot. */
  readonly extension: string;
}

/**
 * Returns the relay's link to an output, signed with the newest of `keys`.
 * @param origin origin with which the link begins.
 */
export function outputLink(
  output: LinkedOutput,
  origin: string,
  keys: readonly ImmediateHmacKey[],
): string {
  const { taskId, number, expiresAtS, recordedAt, extension } = output;
  const mac = toBase64Url(signImmediately(keys, contentOf(output)));
  const file = `${expiresAtS}_${recordedAt}_${mac}.${extension}`;
  return `${origin}${OUTPUTS_PATH}/${taskId}/${number}/${file}`;
}

/** The three segments that follow `/outputs/` in the path of a link, as they were received. */
export interface OutputSegments {
  readonly taskId: string;
  readonly number: string;
  /** Last segment of the link's path: its token, a dot and the extension. */
  readonly file: string;
}

/**
 * Returns the output that a link names, if its MAC was made with one of `keys`, even if the link has expired. The MAC
 * is compared in constant time. Null for any other link.
 */
export async function readOutputLink(
  { taskId, number, file }: OutputSegments,
  keys: readonly ImmediateHmacKey[],
): Promise<LinkedOutput | null> {
  const [, expiresAtS, recordedAt, mac = null, extension = ""] = FILE.exec(file) ?? [];
  const bytes = fromBase64Url(mac, MAC_BYTES);
  if (bytes === null || !OUTPUT_NUMBER.test(number)) return null;
  const times = { expiresAtS: Number(expiresAtS), recordedAt: Number(recordedAt) };
  const output = { taskId, number: Number(number), ...times, extension };
  const cryptoKeys = keys.map(({ key }) => key);
  return (await verifyAny(cryptoKeys, bytes, contentOf(output))) ? output : null;
}

/**
 * Returns the extension for the relay's link to an output, from the upstream's own link. The first of these that is
 * found is used: the extension of a file name in the path (the last segment first), that of a file name in a parameter,
 * the extension for a format or media type that a parameter names, and finally `bin`.
 */
export function extensionOf(source: string): string {
  const url = parseUrl(source);
  if (url === null) return OTHER_EXTENSION;
  const segments = url.pathname.split("/").toReversed();
  const values = [...url.searchParams.values()];
  const named = [...segments, ...values].map(extensionIn).find((each) => each !== null);
  return named ?? values.map(formatIn).find((each) => each !== null) ?? OTHER_EXTENSION;
}

/**
 * Returns the extension in a file name if it is a known one, also when a size or style follows it (`a.png!small`).
 * Otherwise null.
 */
function extensionIn(name: string): string | null {
  const parts = name.split(/[!@:~"';&]/);
  const extensions = parts.map((part) => known(/\.([a-z\d]{1,5})$/i.exec(part)?.[1] ?? ""));
  return extensions.find((each) => each !== null) ?? null;
}

/** Returns the extension for the format or media type that is the value of a parameter. Null for any other value. */
function formatIn(value: string): string | null {
  const text = value.trim().toLowerCase();
  return known(text) ?? known(extensionOfType(text, ""));
}

function known(extension: string): string | null {
  const lower = extension.toLowerCase();
  return EXTENSIONS.has(lower) ? lower : null;
}

function contentOf({ taskId, number, expiresAtS, recordedAt, extension }: LinkedOutput): Bytes {
  return bytesOf(`${taskId}\n${number}\n${expiresAtS}_${recordedAt}\n${extension}`);
}
