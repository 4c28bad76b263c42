import { expect, it } from "vitest";
import {
  extensionOfType,
  isShownInline,
  mediaTypeOf,
  TYPE_BYTES,
  typeOfExtension,
} from "../../src/core/output-metadata/media-type.ts";

const OTHER_TYPE = "application/octet-stream";

/** Returns bytes of which each character of the text is one. */
function bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Returns the first bytes of an ISO media file with these brands. */
function iso(major: string, ...compatible: readonly string[]): string {
  const size = String.fromCharCode(16 + 4 * compatible.length);
  return `\0\0\0${size}ftyp${major}\0\0\0\0${compatible.join("")}\0\0\0\bfree`;
}

const EBML =
  "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84";

it.each([
  ["a PNG", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"],
  ["a JPEG", "\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"],
  ["a GIF", "GIF89a\x01\0", "image/gif"],
  ["a GIF of the first version", "GIF87a\x01\0", "image/gif"],
  ["a WebP", "RIFF\x24\0\0\0WEBPVP8 ", "image/webp"],
  ["an AVIF by its major brand", iso("avif", "mif1", "miaf"), "image/avif"],
  ["an AVIF by a compatible brand", iso("mif1", "avif"), "image/avif"],
  ["a sequence of AVIF images", iso("avis", "msf1"), "image/avif"],
  ["an MP4", iso("isom", "iso2", "avc1", "mp41"), "video/mp4"],
  ["an MP4 of a brand of its own", iso("XAVC"), "video/mp4"],
  ["a QuickTime film", iso("qt  "), "video/quicktime"],
  ["a QuickTime film without brands", "\0\0\x02\0moov", "video/quicktime"],
  ["a WebM", `${EBML}webm`, "video/webm"],
  ["a Matroska", `${EBML}matroska`, "video/x-matroska"],
  [
    "an Ogg with Theora",
    "OggS\0\x02\0\0\0\0\0\0\0\0abcd\0\0\0\0sum.\x01\x2a\x80theora",
    "video/ogg",
  ],
  ["an Ogg with Opus", "OggS\0\x02\0\0\0\0\0\0\0\0abcd\0\0\0\0sum.\x01\x13OpusHead", "audio/ogg"],
  ["an MP3 with ID3", "ID3\x04\0\0", "audio/mpeg"],
  ["an MP3 without ID3", "\xff\xfb\x90\x44", "audio/mpeg"],
  ["an AAC", "\xff\xf1\x50\x80", "audio/aac"],
  ["an AAC of MPEG-2", "\xff\xf9\x50\x80", "audio/aac"],
  ["an M4A", iso("M4A ", "mp42"), "audio/mp4"],
  ["an audio book", iso("M4B ", "mp42"), "audio/mp4"],
  ["an MP4 with the word avif in its second box", `${iso("isom", "iso2")}avif`, "video/mp4"],
  [
    "an AVIF with more brands than the first 64 bytes hold",
    `\0\0\x01\x04ftypmif1\0\0\0\0miafMA1Bavif${"mif1".repeat(57)}`,
    "image/avif",
  ],
  ["a WAV", "RIFF\x24\0\0\0WAVEfmt ", "audio/wav"],
  ["an AIFF", "FORM\0\0\0\x24AIFFCOMM", "audio/aiff"],
  ["an AVI", "RIFF\x24\0\0\0AVI LIST", "video/x-msvideo"],
  ["a FLAC", "fLaC\0\0\0\x22", "audio/flac"],
])(
  "an output that begins like %s is shown inline, under the media type of its content",
  (_what, text, type) => {
    expect(mediaTypeOf(bytes(text))).toBe(type);
    expect(isShownInline(type)).toBe(true);
  },
);

it.each([
  ["a HEIC", iso("heic", "mif1"), "image/heif"],
  ["a HEIF of the brand heix", iso("heix"), "image/heif"],
  ["a HEIF of the brand heim", iso("heim"), "image/heif"],
  ["a HEIF of the brand heis", iso("heis"), "image/heif"],
  ["a HEIF of the brand hevc", iso("hevc"), "image/heif"],
  ["a HEIF of the brand hevx", iso("hevx"), "image/heif"],
  ["a HEIF of the brand mif1", iso("mif1"), "image/heif"],
  ["a HEIF of the brand mif2", iso("mif2"), "image/heif"],
  ["a HEIF of the brand msf1", iso("msf1"), "image/heif"],
  ["a PDF", "%PDF-1.7\n", "application/pdf"],
  ["a ZIP", "PK\x03\x04\x14\0", "application/zip"],
  ["a GLB", "glTF\x02\0\0\0", "model/gltf-binary"],
  ["an HTML page", "<!doctype html><script>alert(1)</script>", OTHER_TYPE],
  ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', OTHER_TYPE],
  ["an SVG behind an XML declaration", '<?xml version="1.0"?><svg/>', OTHER_TYPE],
  ["a script", "alert(1)", OTHER_TYPE],
  ["JSON", '{"error":"gone"}', OTHER_TYPE],
  ["text in UTF-16", "\xff\xfe<\0h\0t\0m\0l\0", OTHER_TYPE],
  ["HTML behind one byte of an MP3", "\xff<html>", OTHER_TYPE],
  ["an MP3 of which the first byte is another", "\xfe\xfb\x90\x44", OTHER_TYPE],
  ["an MP3 of the reserved version", "\xff\xeb\x90\x44", OTHER_TYPE],
  ["an MP3 of the reserved bit rate", "\xff\xfb\xf0\x44", OTHER_TYPE],
  ["an MP3 of the reserved sample rate", "\xff\xfb\x9c\x44", OTHER_TYPE],
  ["HTML behind the name of a box", "<!--ftypx", OTHER_TYPE],
  ["a PNG behind a blank", " \x89PNG\r\n\x1a\n", OTHER_TYPE],
  ["a RIFF of another type", "RIFF\x24\0\0\0XXXX", OTHER_TYPE],
  ["an IFF file of another type", "FORM\0\0\0\x24XXXX", OTHER_TYPE],
  ["a WebP without its container", "XXXX\x24\0\0\0WEBPVP8 ", OTHER_TYPE],
  ["a WAV without its container", "XXXX\x24\0\0\0WAVEfmt ", OTHER_TYPE],
  ["an AVI file without its container", "XXXX\x24\0\0\0AVI LIST", OTHER_TYPE],
  ["an AIFF file without its container", "XXXX\x24\0\0\0AIFFCOMM", OTHER_TYPE],
  ["a text that names webm", "This is no webm.", OTHER_TYPE],
  ["a text that names matroska", "This is no matroska.", OTHER_TYPE],
  ["a text that names theora", "This is no theora.", OTHER_TYPE],
  ["a cut signature", "RIFF\x24", OTHER_TYPE],
  ["a cut box", "\0\0\0\x18ftypav", OTHER_TYPE],
  ["an empty file", "", OTHER_TYPE],
])(
  "an output that begins like %s is offered for download and not shown inline",
  (_what, text, type) => {
    expect(mediaTypeOf(bytes(text))).toBe(type);
    expect(isShownInline(type)).toBe(false);
  },
);

it("only the first bytes of an output decide its media type: the beginning of another format further on in the output changes nothing", () => {
  const start = bytes(`${EBML}${"\0".repeat(TYPE_BYTES)}webm`);
  expect(mediaTypeOf(start)).toBe(OTHER_TYPE);
  expect(mediaTypeOf(bytes(`\x89PNG\r\n\x1a\n${"x".repeat(100_000)}`))).toBe("image/png");
});

it.each(["text/html;audio/mpeg", "application/video/mp4", "image/svg+xml; of=video/mp4"])(
  "an output of the media type %s, which merely contains the name of an audio or video type, is not shown inline",
  (type) => {
    expect(isShownInline(type)).toBe(false);
  },
);

it.each([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["image/avif", "avif"],
  ["image/heif", "heic"],
  ["audio/wav", "wav"],
  ["audio/aiff", "aiff"],
  ["audio/ogg", "ogg"],
  ["audio/flac", "flac"],
  ["audio/mpeg", "mp3"],
  ["audio/aac", "aac"],
  ["audio/mp4", "m4a"],
  ["video/mp4", "mp4"],
  ["video/quicktime", "mov"],
  ["video/webm", "webm"],
  ["video/x-matroska", "mkv"],
  ["video/x-msvideo", "avi"],
  ["video/ogg", "ogv"],
  ["application/pdf", "pdf"],
  ["application/zip", "zip"],
  ["model/gltf-binary", "glb"],
])(
  "a file name with an extension that does not belong to the file's media type %s gets the extension %s in its place",
  (type, usual) => {
    expect(extensionOfType(type, "html")).toBe(usual);
  },
);

it.each([
  ["image/jpeg", "jpeg"],
  ["image/heif", "heif"],
  ["audio/aiff", "aif"],
  ["audio/ogg", "opus"],
  ["video/mp4", "m4v"],
  ["video/ogg", "ogg"],
  ["application/zip", "usdz"],
  [OTHER_TYPE, "obj"],
])("the name of a file of the media type %s keeps its extension %s", (type, named) => {
  expect(extensionOfType(type, named)).toBe(named);
});

it.each([
  ["mp4", "video/mp4"],
  ["jpeg", "image/jpeg"],
  ["opus", "audio/ogg"],
  ["glb", "model/gltf-binary"],
  ["svg", null],
  ["bin", null],
])("a file with the extension %s has the media type %s", (extension, type) => {
  expect(typeOfExtension(extension)).toBe(type);
});

it.each([
  ["audio/L16;codec=pcm;rate=24000", "\0\0\0\0", "audio/L16;codec=pcm;rate=24000"],
  ["audio/pcm; rate=24000", "", "audio/pcm; rate=24000"],
  ["audio/L16", "ID3", "audio/mpeg"],
  ["audio/L16;a=<b>", "\0", OTHER_TYPE],
  ["image/svg+xml", "<svg>", OTHER_TYPE],
  ["text/html", "<p>", OTHER_TYPE],
])(
  "the stated type %s of an output that begins like %j makes it %s: only sound without a signature has the stated type",
  (stated, text, type) => {
    expect(mediaTypeOf(bytes(text), stated)).toBe(type);
  },
);
