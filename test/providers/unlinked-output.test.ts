import { expect, it } from "vitest";
import { unlinkedOutputIn } from "../../src/providers/unlinked-output.ts";

const PNG = "iVBORw0KGgo=";
const LONG = "QUJD".repeat(80);
const LINK = "https://cdn.example.com/1.mp4";

it.each<[string, unknown, readonly (string | null)[]]>([
  [
    "is a data: URL, in a member of any name",
    { message: `data:image/png;base64,${PNG}` },
    ["/message"],
  ],
  ["is a data: URL without base64", { svg: "data:image/svg+xml,%3Csvg/%3E" }, ["/svg"]],
  ["begins like a known type of file", { outputs: [PNG] }, ["/outputs/0"]],
  ["is in a member whose name contains base64", { imageBase64Data: "QUJD" }, ["/imageBase64Data"]],
  [
    "is in a member whose name contains b64",
    { data: [{ b64_json: "QUJD" }] },
    ["/data/0/b64_json"],
  ],
  [
    'stands beside the type "base64"',
    { files: [{ type: "base64", data: "QUJD" }] },
    ["/files/0/data"],
  ],
  ["stands beside a media type", { mimeType: "audio/mpeg", data: "QUJD" }, ["/data"]],
  ['stands beside the type "video"', { type: "video", data: "QUJD" }, ["/data"]],
  ["is base64 of the length of a file", { latents: LONG }, ["/latents"]],
  ["is long base64 with line breaks", { file: LONG.replaceAll(/.{76}/g, "$&\r\n") }, ["/file"]],
  ["occurs in two members, and counts once", { image: PNG, images: [PNG] }, ["/image"]],
  ["is within a JSON text", { result: JSON.stringify({ image: PNG }) }, [null]],
])(
  "a text in a provider's answer is taken for the content of a file when the text %s",
  (_, body, files) => {
    expect(unlinkedOutputIn(body).files).toEqual(files);
  },
);

it.each<[string, unknown]>([
  ["is submitted input", { input: { image: PNG } }],
  ["is a preview", { preview_image: PNG, thumbnail: `data:image/png;base64,${PNG}` }],
  [
    'is in a step of the type "user_input"',
    { steps: [{ type: "user_input", content: [{ data: PNG }] }] },
  ],
  ["is a signature", { type: "thought", signature: LONG }],
  ["is a long id", { id: LONG }],
  ["is a short word", { data: "done", image: "none" }],
  ["is a flag under a name with base64", { is_base64: "true" }],
  ["has other characters than base64", { base64: "no, none" }],
  ["is an empty data: URL", { image: "data:," }],
])("a text in a provider's answer is not taken for a file when the text %s", (_, body) => {
  expect(unlinkedOutputIn(body).files).toEqual([]);
});

it.each<[string, unknown]>([
  ["a text as the output", { output: "A fox runs." }],
  ["pieces of text", { output: ["A", " fox"] }],
  ["a number as the output", { output: 0.93 }],
  ["a transcription", { text: "A fox runs.", chunks: [{ text: "A fox" }], languages: ["en"] }],
  ["the answer of a language model", { choices: [{ message: { content: "A fox runs." } }] }],
  ["members of any name in the output", { output: { label: "fox", status: "ok" } }],
  ["structured data", { structuredData: { age: "30-40" } }],
  ["a text within a JSON text", { resultJson: JSON.stringify({ resultObject: { a: "fox" } }) }],
  ['the modality "text"', { modality: "text", content: { prompt: "a fox" } }],
  ["an object of moderation verdicts", { outputs: [{ hate: false, "sexual/minors": true }] }],
  [
    "moderation verdicts within an output",
    { result: { flagged: "no", categories: { violence: true } } },
  ],
  ["an object of scores", { predictions: { fox: 0.93, dog: 0 } }],
  ["the path of a drawing beside an empty picture", { image: null, path: "M 0 0 L 10 -1e1 Z" }],
  ["the id of a voice that was made", { output: { task_id: "1", voice_id: "v.1.mp4" } }],
])("an answer of a provider with %s has text as its output", (_, body) => {
  expect(unlinkedOutputIn(body)).toEqual({ files: [], isText: true });
});

it.each<[string, unknown]>([
  ["nothing", {}],
  ["no JSON", undefined],
  ["a prompt and an id alone", { id: "1", prompt: "a fox", output: { task_id: "1" } }],
  ["a message and a state within the output", { output: { status: "success", message: "Done" } }],
  ["a state as the output", { result: "success" }],
  ["a title within the output", { response: { songs: [{ title: "A fox", tags: "calm" }] } }],
  ["a path as the output", { output: "videos/1.mp4" }],
  ["a code, a model and a log", { code: "success", model: "fox-1", logs: "Text was made." }],
  ["text beside an empty list of files", { text: "A fox", images: [] }],
  ["text beside an empty link", { text: "A fox", audio_url: "" }],
  ["text beside a file that is null", { text: "A fox", video: null }],
  ["text beside a link that no adapter has read", { results: [{ content: "A fox", media: LINK }] }],
  ["a link that is not http", { output: ["s3://bucket/video"] }],
  ["flags outside of an output", { flags: { hate: false } }],
  ["properties of a file in an output", { output: { width: 1024, height: 576, fps: 24 } }],
  ["a flag for its success in an output", { result: { success: true } }],
  ["a flag for a type of file in an output", { output: { has_audio: true } }],
  ["a flag beside the state in an output", { output: { upscaled: true, status: "done" } }],
  ["verdicts beside an empty link", { output: { scores: { a: 0.5 }, image_url: null } }],
  ["an empty object as the output", { output: {} }],
  ["a format that only begins like a drawing", { image: null, format: "m4a" }],
  ["a path that only begins like a drawing", { image: null, path: "media/1.mp4" }],
  ["an empty JSON text", { resultJson: "{}" }],
  ["a JSON text that is broken", { resultJson: "{]" }],
])(
  "an answer of a provider with %s is read as having neither a file nor a text as its output",
  (_, body) => {
    expect(unlinkedOutputIn(body)).toEqual({ files: [], isText: false });
  },
);

it("in a provider's answer with very many or deeply nested values, only a part of the values is searched for outputs", () => {
  const wide = { output: Array.from({ length: 30_000 }, () => null), text: "A fox" };
  expect(unlinkedOutputIn(wide).isText).toBe(false);
  let deep: unknown = "A fox";
  for (let i = 0; i < 20; i++) deep = { output: deep };
  expect(unlinkedOutputIn(deep).isText).toBe(false);
});
