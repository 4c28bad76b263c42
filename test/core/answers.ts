import { bytesOf, toBase64 } from "../../src/security/encoding.ts";
import { AnswerScanner } from "../../src/objects/call/answer-scanner.ts";

/** An answer with the file `FILE` in it, and what replaces parts of its text in the skeleton. */
interface RealAnswer {
  readonly what: string;
  readonly source: string;
  readonly body: string;
  readonly changes: readonly (readonly [text: string, instead: string])[];
}

/** Marks the place of the file in the body of an answer. Vendors do not show the base64 of whole files. */
export const FILE = "FILE";
export const PNG = bytesOf(
  Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10),
  "p".repeat(3_000),
);
/** Audio samples, which have no signature. */
export const PCM = bytesOf("\u0001\u0000".repeat(1_500));
/** Encrypted data that happen to begin like an image. */
const SIGNATURE = toBase64(bytesOf(PNG, "s".repeat(450_000)));

const VERCEL = "https://github.com/vercel/ai/blob/main/packages";
const OPENAI_SPEC = "https://github.com/openai/openai-openapi, openapi.yaml";

export const OPENAI_IMAGES = `{
  "created": 1713833628,
  "data": [
    {
      "b64_json": "FILE"
    }
  ],
  "usage": {
    "total_tokens": 100,
    "input_tokens": 50,
    "output_tokens": 50,
    "input_tokens_details": {
      "text_tokens": 10,
      "image_tokens": 40
    }
  }
}`;

const RESPONSE_OUTPUT = `"output":[{"id":"rs_0df9","type":"reasoning","summary":[],"encrypted_content":"gAAAAABpPMlcH0HHEv5_ozHwP5Gxz5ZLE7A8Aw7GK94sa1KWHqXLrAch29KZrZqCzH6PkWnLWTxIZv4TL70DPoKbS_ryNp6d2rC8vS04U7qWLdsbYnsqmPYVCCQ2Rigd84Yh9mgctGTs=="},{"id":"ig_0df9","type":"image_generation_call","status":"completed","background":"opaque","output_format":"webp","quality":"low","result":"FILE","revised_prompt":"A cute fluffy cat sitting on a sunlit windowsill…","size":"1024x1024"},{"id":"msg_0df9","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":""}],"role":"assistant"}]`;

export const REAL_ANSWERS: readonly RealAnswer[] = [
  {
    what: "OpenAI's images",
    source: `${OPENAI_SPEC}, example of createImage`,
    body: OPENAI_IMAGES,
    changes: [['"b64_json": "FILE"', '"url": "relay-output:t0:1"']],
  },
  {
    what: "new-api's images, with an empty url",
    source: "https://github.com/QuantumNous/new-api/blob/main/dto/openai_image.go, ImageResponse",
    body: '{"data":[{"url":"","b64_json":"FILE","revised_prompt":""}],"created":1757323224}',
    changes: [['"url":"","b64_json":"FILE"', '"source_url":"","url":"relay-output:t0:1"']],
  },
  {
    what: "Ark's images",
    source: "https://docs.byteplus.com/en/docs/ModelArk/1541523, with response_format b64_json",
    body: '{"model":"seedream-5-0-260128","created":1757388756,"data":[{"b64_json":"FILE","size":"2720x1536"}],"usage":{"generated_images":1,"output_tokens":16320,"total_tokens":16320}}',
    changes: [['"b64_json":"FILE"', '"url":"relay-output:t0:1"']],
  },
  {
    what: "Gemini's generateContent, with a signature of 0.6 MB",
    source: `${VERCEL}/google/src/__fixtures__/google-image-gemini-3.1-flash-image.json, a live answer`,
    body: `{
  "candidates": [
    {
      "content": {
        "parts": [
          {
            "inlineData": {
              "mimeType": "image/jpeg",
              "data": "FILE"
            },
            "thoughtSignature": "${SIGNATURE}"
          }
        ],
        "role": "model"
      },
      "finishReason": "STOP",
      "index": 0
    }
  ],
  "usageMetadata": {
    "promptTokenCount": 10,
    "candidatesTokenCount": 1392,
    "totalTokenCount": 1402
  },
  "modelVersion": "gemini-3.1-flash-image",
  "responseId": "dTOras2iGqLc-sAPiO2BiAw"
}
`,
    changes: [
      ['"inlineData"', '"fileData"'],
      ['"data": "FILE"', '"fileUri": "relay-output:t0:1"'],
    ],
  },
  {
    what: "the Responses API, with encrypted reasoning",
    source: `${VERCEL}/openai/src/responses/__fixtures__: openai-image-generation-tool.1.json and openai-reasoning-encrypted-content.1.json`,
    body: `{"id":"resp_0df9","object":"response","created_at":1758030932,"status":"completed","background":false,"error":null,"model":"gpt-5-nano-2025-08-07",${RESPONSE_OUTPUT},"tools":[{"type":"image_generation","background":"auto","output_format":"webp","quality":"low","size":"1024x1024"}],"usage":{"input_tokens":3151,"output_tokens":1970,"total_tokens":5121},"user":null,"metadata":{}}`,
    changes: [['"result":"FILE"', '"result":"relay-output:t0:1"']],
  },
  {
    what: "chat completions with audio",
    source: "https://platform.openai.com/docs/guides/audio, a message with message.audio",
    body: '{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"audio":{"id":"audio_abc123","expires_at":1729018505,"data":"FILE","transcript":"Yes, golden retrievers are known to be ..."}},"finish_reason":"stop"}]}',
    changes: [['"data":"FILE"', '"data":"relay-output:t0:1"']],
  },
  {
    what: "OpenRouter's chat images, with encrypted reasoning",
    source:
      "https://openrouter.ai/docs/features/multimodal/image-generation and …/reasoning-tokens",
    body: `{"choices":[{"message":{"role":"assistant","content":"I've generated a beautiful sunset image for you.","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,FILE"}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"${toBase64(PNG)}","format":"google-gemini-v1","index":0}]}}]}`,
    changes: [['"data:image/png;base64,FILE"', '"relay-output:t0:1"']],
  },
  {
    what: "new-api's chat with an image in Markdown",
    source: "https://github.com/QuantumNous/new-api/blob/main/relay/channel/gemini/relay-gemini.go",
    body: String.raw`{"choices":[{"index":0,"message":{"role":"assistant","content":"Here it is:\n![image](data:image/png;base64,FILE)\nAnd (a data:image/png;base64, URL) more"},"finish_reason":"stop"}]}`,
    changes: [["(data:image/png;base64,FILE)", "(relay-output:t0:1)"]],
  },
];

const RESPONSE_EVENTS: readonly (readonly [type: string, data: string])[] = [
  ["response.created", '"response":{"id":"resp_0df9","status":"in_progress","output":[]}'],
  ["response.image_generation_call.generating", '"output_index":1,"item_id":"ig_0df9"'],
  [
    "response.image_generation_call.partial_image",
    `"item_id":"ig_0df9","partial_image_index":0,"partial_image_b64":"${toBase64(PCM)}"`,
  ],
  [
    "response.output_item.done",
    '"output_index":1,"item":{"id":"ig_0df9","type":"image_generation_call","status":"completed","result":"FILE"}',
  ],
  ["response.completed", `"response":{"id":"resp_0df9","status":"completed",${RESPONSE_OUTPUT}}`],
];

/** Streams with the file `FILE`, and their skeletons. */
export const REAL_STREAMS: readonly (RealAnswer & { readonly files: number })[] = [
  {
    what: "OpenAI's images",
    source: `${OPENAI_SPEC}, streaming example of createImage`,
    body: `event: image_generation.partial_image
data: {"type":"image_generation.partial_image","b64_json":"${toBase64(PCM)}","partial_image_index":0}

event: image_generation.completed
data: {"type":"image_generation.completed","b64_json":"FILE","usage":{"total_tokens":100,"input_tokens":50,"output_tokens":50}}

`,
    changes: [['"b64_json":"FILE"', '"url":"relay-output:t0:1"']],
    files: 1,
  },
  {
    what: "OpenAI's images through a gateway that names no events and adds [DONE] and comments",
    source: `${OPENAI_SPEC}, streaming example of editImage; members sorted as by Go's encoding/json`,
    body: `: PING

data: {"b64_json":"${toBase64(PNG)}","partial_image_index":0,"type":"image_edit.partial_image"}

: PING

data: {"b64_json":"FILE","type":"image_edit.completed","usage":{"total_tokens":100}}

data: [DONE]

`,
    changes: [['"b64_json":"FILE"', '"url":"relay-output:t0:1"']],
    files: 1,
  },
  {
    what: "the Responses API",
    source: `${VERCEL}/openai/src/responses/__fixtures__/openai-image-generation-tool.1.chunks.txt, a live stream`,
    body: RESPONSE_EVENTS.map(
      ([type, data]) => `event: ${type}\r\ndata: {"type":"${type}",${data}}\r\n\r\n`,
    ).join(""),
    changes: [['"result":"FILE"', '"result":"relay-output:t0:1"']],
    files: 1,
  },
  {
    what: "Ark's images, with an event for each",
    source: "https://docs.byteplus.com/en/docs/ModelArk/1824137, with response_format b64_json",
    body: `${[0, 1]
      .map(
        (index) => `event: image_generation.partial_succeeded
data: {"type":"image_generation.partial_succeeded","model":"seedream-5-0-260128","created":1757396757,"image_index":${index},"b64_json":"FILE","size":"2496x1664"}

`,
      )
      .join("")}event: image_generation.completed
data: {"type":"image_generation.completed","model":"seedream-5-0-260128","created":1757396825,"usage":{"generated_images":2,"output_tokens":32448,"total_tokens":32448}}

data: [DONE]`,
    changes: [],
    files: 2,
  },
];

/** Returns a text in which parts are replaced. @throws when it does not contain one of them. */
export function replaced(
  text: string,
  changes: readonly (readonly [text: string, instead: string])[],
): string {
  return changes.reduce((before, [part, instead]) => {
    if (!before.includes(part)) throw new Error(`no ${part}`);
    return before.replace(part, instead);
  }, text);
}

/** Divides bytes into pieces of this size. */
export function piecesOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) => bytes.slice(i * size, (i + 1) * size));
}

/** Scans an answer that arrives in these pieces, and returns its skeleton and its files. */
export function scanned(pieces: readonly Uint8Array[]) {
  let count = 0;
  const scanner = new AnswerScanner("t0", () => ++count);
  const files: Uint8Array[] = [];
  let parts: Uint8Array[] = [];
  for (const piece of pieces) {
    for (const part of scanner.push(piece)) {
      if (part.kind === "file") parts = [];
      if (part.kind === "bytes") parts.push(part.bytes);
      if (part.kind === "end") files.push(bytesOf(...parts));
      if (part.kind === "withdrawn") files.length = count = part.from - 1;
    }
  }
  return { skeleton: scanner.end(), files };
}
