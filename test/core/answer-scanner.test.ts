import { expect, it } from "vitest";
import { AnswerScanner } from "../../src/objects/call/answer-scanner.ts";
import { bytesOf, toBase64, toBase64Url } from "../../src/security/encoding.ts";
import { FILE, PCM, piecesOf, PNG, REAL_ANSWERS, replaced, scanned } from "./answers.ts";

const PNG_TEXT = toBase64(PNG);
const LONG_TEXT = toBase64(PCM);

function scan(json: string) {
  return scanned([bytesOf(json)]);
}

/** Returns the skeleton of an answer, and how many files it has. */
function read(value: unknown) {
  const { skeleton, files } = scan(JSON.stringify(value));
  const parsed: unknown = JSON.parse(skeleton);
  return { skeleton: parsed, files: files.length };
}

it.each(REAL_ANSWERS.flatMap((answer) => [61, 1_000_000].map((size) => ({ ...answer, size }))))(
  "an answer of $what, arriving $size bytes at a time, is divided into its file and a text that is otherwise the same byte by byte",
  ({ body, changes, size }) => {
    const pieces = piecesOf(bytesOf(body.replace(FILE, PNG_TEXT)), size);
    expect(scanned(pieces)).toEqual({ skeleton: replaced(body, changes), files: [PNG] });
  },
);

it.each(REAL_ANSWERS.filter(({ body }) => !body.includes('"result":"FILE"')))(
  "a file of an unknown format in an answer of $what is recognised by the names around it",
  ({ body, changes }) => {
    const { skeleton, files } = scan(body.replace(FILE, LONG_TEXT));
    expect({ skeleton, files }).toEqual({ skeleton: replaced(body, changes), files: [PCM] });
  },
);

it.each<[string, string]>([
  ["with padding", PNG_TEXT],
  ["without padding", PNG_TEXT.replace(/=+$/, "")],
  ["as base64url", toBase64Url(PNG)],
  ["with escaped slashes", PNG_TEXT.replaceAll("/", String.raw`\/`)],
  [
    "with escaped plus signs",
    PNG_TEXT.replaceAll(/[+5]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
  ],
  ["in lines", PNG_TEXT.replaceAll(/.{76}/g, String.raw`$&\n`)],
  ["in lines with returns", PNG_TEXT.replaceAll(/.{64}/g, String.raw`$&\r\n`)],
  ["as a data: URL", `data:image/png;base64,${PNG_TEXT}`],
  ["as a data: URL with a name", `DATA:image/png;name=a.png;base64,${PNG_TEXT}`],
  ["as a data: URL with escapes", String.raw`data:image\/png;base64,${PNG_TEXT}`],
])("a file in an answer that is written %s has the bytes that were encoded", (_, text) => {
  for (const size of [1, 5, 1_024, 10_000]) {
    const { skeleton, files } = scanned(piecesOf(bytesOf(`{"image": "${text}"}`), size));
    expect(skeleton).toBe('{"image": "relay-output:t0:1"}');
    expect(files).toEqual([PNG]);
  }
});

it.each<[string, unknown, unknown]>([
  ["under a name with base64", { imageBase64: LONG_TEXT }, { imageBase64: "relay-output:t0:1" }],
  [
    "beside a media type before it",
    { mime_type: "audio/l16", data: LONG_TEXT },
    { mime_type: "audio/l16", data: "relay-output:t0:1" },
  ],
  [
    "in inline_data, before its media type",
    { inline_data: { data: LONG_TEXT, mime_type: "audio/l16" } },
    { file_data: { file_uri: "relay-output:t0:1", mime_type: "audio/l16" } },
  ],
  [
    "under a name that is written with an escape",
    { data: LONG_TEXT, b64_json: "QUJD" },
    { data: LONG_TEXT, url: "relay-output:t0:1" },
  ],
  [
    "in a list",
    { artifacts: [PNG_TEXT, PNG_TEXT] },
    { artifacts: ["relay-output:t0:1", "relay-output:t0:2"] },
  ],
  [
    "before a url",
    { b64_json: PNG_TEXT, url: null, revised_prompt: "" },
    { url: "relay-output:t0:1", source_url: null, revised_prompt: "" },
  ],
  [
    "twice in one text",
    { content: `![a](data:image/png;base64,${PNG_TEXT}) and [b](data:audio/wav;base64,QUJD)` },
    { content: "![a](relay-output:t0:1) and [b](relay-output:t0:2)" },
  ],
])("base64 in an answer is taken for a file when it stands %s", (_, answer, skeleton) => {
  expect(read(answer).skeleton).toEqual(skeleton);
});

const DRAFT = { mimeType: "image/png", data: PNG_TEXT };
const LEFT_OUT = { mimeType: "image/png", data: "" };
const LINKED = { fileData: { mimeType: "image/png", fileUri: "relay-output:t0:1" } };

it.each<[string, object, object]>([
  ["before", { thought: true, inlineData: DRAFT }, { thought: true, inlineData: LEFT_OUT }],
  ["after", { inlineData: DRAFT, thought: true }, { inlineData: LEFT_OUT, thought: true }],
])(
  "a file in a part of an answer which says %s the file that it is a thought is no output, and leaves no placeholder and no number",
  (_, draft, rest) => {
    const parts = [{ text: "…", thought: true }, draft, { inlineData: DRAFT, thought: false }];
    for (const text of [JSON.stringify({ parts }), JSON.stringify({ parts }, null, 2)]) {
      for (const size of [1, 1_000_000]) {
        const { skeleton, files } = scanned(piecesOf(bytesOf(text), size));
        expect(JSON.parse(skeleton)).toEqual({
          parts: [parts[0], rest, { ...LINKED, thought: false }],
        });
        expect(files).toEqual([PNG]);
      }
    }
  },
);

it("the files of a thought within a thought, and those beside it, are no output", () => {
  const draft = { inlineData: DRAFT, thought: true };
  const rest = { inlineData: LEFT_OUT, thought: true };
  const { skeleton, files } = read([
    { parts: [draft, { inlineData: DRAFT }], thought: true },
    { inlineData: DRAFT },
  ]);
  expect(skeleton).toEqual([{ parts: [rest, { inlineData: LEFT_OUT }], thought: true }, LINKED]);
  expect(files).toBe(1);
});

it("a scan states for each file the media type that the object of the file has stated before it", () => {
  const scanner = new AnswerScanner("t0", () => 1);
  const answer = {
    mimeType: "image/png",
    parts: [
      { inlineData: { mimeType: "audio/L16;rate=24000", data: LONG_TEXT } },
      { inlineData: { data: LONG_TEXT, mimeType: "audio/L16" } },
    ],
  };
  const parts = [...scanner.push(bytesOf(JSON.stringify(answer)))];
  const types = parts.flatMap((part) => (part.kind === "file" ? [part.mediaType] : []));
  expect(types).toEqual(["audio/L16;rate=24000", null]);
});

it.each<[string, unknown]>([
  ["is long and has no sign of a file", { content: LONG_TEXT, embedding: LONG_TEXT }],
  ["repeats the request", { input: { image: `data:image/png;base64,${PNG_TEXT}` } }],
  ["is a preview", { preview_image: PNG_TEXT }],
  ["is of a type that is no output", { type: "user_input", content: [{ data: PNG_TEXT }] }],
  ["is a signature", { thoughtSignature: PNG_TEXT, signature: PNG_TEXT }],
  ["is short and not decodable", { type: "file", data: "done1" }],
  ["is a word", { b64_json: "none", image_base64: "" }],
  ["is the name of a member", { [PNG_TEXT]: 1 }],
  ["is a data: URL without base64", { svg: "data:image/svg+xml,%3Csvg/%3E" }],
  ["is a data: URL without content", { image: "data:image/png;base64," }],
  ["is a data: URL in a text", { content: `Write data:image/png;base64,${PNG_TEXT} there` }],
  ["is a link in a member for base64", { b64_json: "https://cdn.example.net/fox.png" }],
  ["is a data: URL without base64 in a member for base64", { b64_json: "data:text/plain,%41" }],
  ["is broken base64 that repeats the request", { input: { b64_json: "QUJD*" } }],
  ["is broken base64 under a name that may have other texts", { result: "QUJD*", data: "QUJD*" }],
  ["is a link of Markdown to something else", { content: "[a](data:text/plain,abc) [b](data:)" }],
])("a text in an answer stays in the answer when it %s", (_, answer) => {
  expect(read(answer)).toEqual({ skeleton: answer, files: 0 });
});

it.each<[string, string]>([
  ["is cut short in a file", `{"data":[{"b64_json":"${PNG_TEXT.slice(0, 2_000)}`],
  ["is cut short after a file", `{"data":[{"b64_json":"${PNG_TEXT}"`],
  [
    "has a long file with other characters",
    `{"b64_json":"${PNG_TEXT.slice(0, 2_000)}*${PNG_TEXT}"}`,
  ],
  ["has a long file that goes on after its padding", `{"b64_json":"${PNG_TEXT}=${PNG_TEXT}"}`],
  [
    "has a long file with a character too many",
    `{"b64_json":"${PNG_TEXT.replace(/=+$/, "").slice(0, -2)}"}`,
  ],
  ["has another text than base64 in b64_json", '{"b64_json":"QUJD*"}'],
  ["has base64 of a wrong length in a list of images", '{"images_base64":["QUJD","QUJDR"]}'],
  ["has a long text with other characters at its start in b64", `{"b64":"*${PNG_TEXT}"}`],
  ["has a broken data: URL in b64_json", '{"b64_json":"data:image/png;base64,QUJD*"}'],
  [
    "has another text than base64 in inlineData",
    '{"inlineData":{"mimeType":"image/png","data":"QUJD*"}}',
  ],
  ["has a wrong escape in a file", String.raw`{"b64_json":"${PNG_TEXT.slice(0, 2_000)}\x"}`],
  [
    "has a quoted quotation mark in a file",
    String.raw`{"b64_json":"${PNG_TEXT.slice(0, 2_000)}\""}`,
  ],
  ["has a line break in a file", `{"b64_json":"${PNG_TEXT.slice(0, 2_000)}\n"}`],
  ["is followed by more", '{"a":1}{}'],
  ["has wrong brackets", '{"a":1]'],
  ["is empty", " "],
  ["is a page", "<html></html>"],
  ["is nested more deeply than 256 levels", "[".repeat(257) + "]".repeat(257)],
])("an answer that %s is reported as broken", (_, json) => {
  for (const size of [1, 1_023, 100_000]) {
    expect(() => scanned(piecesOf(bytesOf(json), size))).toThrow(
      expect.objectContaining({ reason: "broken" }),
    );
  }
});

it("an answer whose text without its files is longer than 8 MiB is reported as too large", () => {
  const length = 8 * 1024 * 1024 - '{"text":""}'.length;
  expect(scan(`{"text":"${"x".repeat(length)}"}`).files).toEqual([]);
  expect(() => scan(`{"text":"${"x".repeat(length + 1)}"}`)).toThrow(
    expect.objectContaining({ reason: "too_large" }),
  );
});

it("an answer without files is the same after the scan, whatever its spelling", () => {
  const json = '\n{ "é\\u00e9" : [ -0, 1.50E+2, "\\ud83d\\ude00 😀 \\"", {} ,[]], "":null }\r\n';
  for (const size of [1, 3, 100]) {
    expect(scanned(piecesOf(bytesOf(json), size))).toEqual({ skeleton: json, files: [] });
  }
});
