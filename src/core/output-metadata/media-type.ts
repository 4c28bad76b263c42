/**
 * Recognition of media types by the first bytes of a file. The relay serves files that strangers have made, from an
 * origin that may also be that of its console. Therefore neither the upstream's `Content-Type` nor the name of a file
 * decides its type, except for sound without a signature. Only formats that run no code in a browser have a type here;
 * HTML, SVG and everything else are `OTHER_TYPE`. The signatures are those of the WHATWG MIME Sniffing Standard
 * (https://mimesniff.spec.whatwg.org/#matching-a-mime-type-pattern) and, for the brands of ISO media files, of
 * https://mp4ra.org/registered-types/brands.
 */

/** Number of bytes that are read at the beginning of a file to find its media type. */
export const TYPE_BYTES = 64;
/** Media type of a file whose format is not recognised by its first bytes. */
export const OTHER_TYPE = "application/octet-stream";

/**
 * Image types that browsers may show in the page, because they run no code. Videos and audio files of every type may be
 * shown too.
 */
const SHOWN_IMAGES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
]);

/**
 * File extensions of each media type that is recognised by a signature in this file, and of the types of text that an
 * upstream's answer may have, which is then itself an output. For each type the usual extension comes first.
 */
const EXTENSIONS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    "image/png png",
    "image/jpeg jpg jpeg",
    "image/gif gif",
    "image/webp webp",
    "image/avif avif",
    "image/heif heic heif",
    "audio/wav wav",
    "audio/aiff aiff aif",
    "audio/ogg ogg opus",
    "audio/flac flac",
    "audio/mpeg mp3",
    "audio/aac aac",
    "audio/mp4 m4a",
    "video/mp4 mp4 m4v",
    "video/quicktime mov",
    "video/webm webm",
    "video/x-matroska mkv",
    "video/x-msvideo avi",
    "video/ogg ogv ogg",
    "application/pdf pdf",
    "application/zip zip usdz",
    "model/gltf-binary glb",
    "application/json json",
    "text/plain txt",
  ].map((line) => {
    const [type = "", ...extensions] = line.split(" ");
    return [type, extensions] as const;
  }),
);

/**
 * Returns the extension of a file of this media type.
 * @param named extension that the file had before. It is returned if it belongs to this media type, or if the media
 * type has no extension here.
 */
export function extensionOfType(mediaType: string, named: string): string {
  const [usual = named, ...others] = EXTENSIONS.get(mediaType) ?? [];
  return others.includes(named) ? named : usual;
}

/** Returns the media type whose files have this extension; null for an extension that is not known. */
export function typeOfExtension(extension: string): string | null {
  const known = [...EXTENSIONS].find(([, extensions]) => extensions.includes(extension));
  return known?.[0] ?? null;
}

/** Tells whether a browser may show a file of this media type in the page instead of saving it. */
export function isShownInline(mediaType: string): boolean {
  return /^(?:video|audio)\//.test(mediaType) || SHOWN_IMAGES.has(mediaType);
}

/** Pattern of the types of sound, e.g. that of samples without a header, whose parameters say how they are played. */
const SOUND = /^audio\/[\w.+-]{1,64}(?:; ?[\w-]{1,32}=[\w.-]{1,32}){0,4}$/;

/**
 * Returns the media type of a file.
 * @param start first bytes of the file: at least `TYPE_BYTES`, or the whole file.
 * @param stated type that the upstream states. It counts for sound that has no signature; browsers run no code in it.
 */
export function mediaTypeOf(start: Uint8Array, stated: string | null = null): string {
  const text = latin1(start.subarray(0, TYPE_BYTES));
  const known = SIGNATURES.find((signature) => hasSignature(text, signature));
  const found = known?.type ?? isoMediaType(text) ?? (isMpegFrame(start) ? "audio/mpeg" : null);
  return found ?? (stated !== null && SOUND.test(stated) ? stated : OTHER_TYPE);
}

/**
 * Signature of a file format: texts that stand at certain positions of the first bytes of a file. Each character of a
 * text stands for one byte.
 */
interface Signature {
  /** Texts that the file must contain, each with its position in bytes from the beginning of the file. */
  readonly texts: readonly (readonly [place: number, text: string])[];
  /** Text that must occur anywhere among the first bytes. */
  readonly anywhere?: string;
  readonly type: string;
}

const EBML = "\x1a\x45\xdf\xa3";

/** Signatures of all recognised file formats, except ISO media files and bare frames of MPEG audio. */
const SIGNATURES: readonly Signature[] = [
  { texts: [[0, "\x89PNG\r\n\x1a\n"]], type: "image/png" },
  { texts: [[0, "\xff\xd8\xff"]], type: "image/jpeg" },
  { texts: [[0, "GIF87a"]], type: "image/gif" },
  { texts: [[0, "GIF89a"]], type: "image/gif" },
  { texts: at0and8("RIFF", "WEBPVP"), type: "image/webp" },
  { texts: at0and8("RIFF", "WAVE"), type: "audio/wav" },
  { texts: at0and8("RIFF", "AVI "), type: "video/x-msvideo" },
  { texts: at0and8("FORM", "AIFF"), type: "audio/aiff" },
  { texts: [[0, EBML]], anywhere: "webm", type: "video/webm" },
  { texts: [[0, EBML]], anywhere: "matroska", type: "video/x-matroska" },
  { texts: [[0, "OggS\0"]], anywhere: "theora", type: "video/ogg" },
  { texts: [[0, "OggS\0"]], type: "audio/ogg" },
  { texts: [[0, "fLaC"]], type: "audio/flac" },
  { texts: [[0, "ID3"]], type: "audio/mpeg" },
  { texts: [[0, "\xff\xf1"]], type: "audio/aac" },
  { texts: [[0, "\xff\xf9"]], type: "audio/aac" },
  { texts: [[0, "%PDF-"]], type: "application/pdf" },
  { texts: [[0, "PK\x03\x04"]], type: "application/zip" },
  { texts: [[0, "glTF"]], type: "model/gltf-binary" },
];

function at0and8(first: string, second: string): Signature["texts"] {
  return [
    [0, first],
    [8, second],
  ];
}

function hasSignature(start: string, { texts, anywhere = "" }: Signature): boolean {
  return texts.every(([place, text]) => start.startsWith(text, place)) && start.includes(anywhere);
}

const QUICKTIME_BOXES = ["moov", "mdat", "wide"];
const AVIF_BRANDS: readonly string[] = ["avif", "avis"];
/** Brands of ISO media files that contain images. Browsers show such an image only if AVIF is among its brands too. */
const IMAGE_BRANDS = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "mif2", "msf1"];

/** Returns the type of an ISO media file (MP4, QuickTime, AVIF …) by its brands. Null for any other file. */
function isoMediaType(start: string): string | null {
  const box = start.slice(4, 8);
  if (QUICKTIME_BOXES.includes(box)) return "video/quicktime";
  const major = start.slice(8, 12);
  if (box !== "ftyp" || major.length < 4) return null;
  if ([major, ...compatibleBrands(start)].some((brand) => AVIF_BRANDS.includes(brand))) {
    return "image/avif";
  }
  if (IMAGE_BRANDS.includes(major)) return "image/heif";
  if (major === "qt  ") return "video/quicktime";
  return major === "M4A " || major === "M4B " ? "audio/mp4" : "video/mp4";
}

/**
 * Returns those compatible brands of an ISO media file that its box `ftyp` states and that are within the first bytes.
 */
function compatibleBrands(start: string): readonly string[] {
  // A box that is longer than 255 bytes has more brands than the first bytes of the file.
  const isLong = !start.startsWith("\0\0\0");
  const end = isLong ? start.length : start.charCodeAt(3);
  return start.slice(16, end).match(/[^]{4}/g) ?? [];
}

/**
 * Tells whether a file begins with the header of a frame of MPEG audio, layer III (MP3), with a bit rate and a sample rate
 * that are not reserved.
 */
function isMpegFrame([sync = 0, version = 0, rates = 0xff]: Uint8Array): boolean {
  const isLayer3 = sync === 0xff && (version & 0xe6) === 0xe2 && (version & 0x18) !== 0x08;
  return isLayer3 && (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c;
}

/** Returns bytes as a text in which each byte is one character (Latin-1). */
function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
