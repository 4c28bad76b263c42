import { GATEWAY } from "./report-examples.ts";
import { answersAt, type SubmitCall, type SubmitExample } from "./submit-examples.ts";
import { completed, NO_OUTPUT, using } from "./meanings.ts";

const PATH = "/v1/images/generations";
const IMAGE = "https://cdn.example/a.png";
const CREATED_AT = 1767225720;
const FOX = "aGVsbG8=";
const SQUARE = { ratio: "1:1", resolution: "1024p" };
const answer = answersAt(PATH);
const made = (...data: readonly object[]) => ({ created: CREATED_AT, data });
const call: SubmitCall = {
  path: PATH,
  body: { model: "seedream-5-0", prompt: "a fox", size: "1024x1024", n: 1 },
  model: "seedream-5-0",
  endpoint: null,
  metadata: SQUARE,
  answer: "result",
  takesMultipart: false,
};
const result: SubmitExample = answer("an image with its link", made({ url: IMAGE }), {
  job: null,
  result: completed([IMAGE], {}, CREATED_AT * 1000),
});
const others: readonly SubmitExample[] = [
  answer(
    "two images, one of them with a path on the gateway",
    made({ url: IMAGE, revised_prompt: "a red fox" }, { url: "/files/b.png" }),
    {
      job: null,
      result: completed([IMAGE, `${GATEWAY}/files/b.png`], {}, CREATED_AT * 1000),
    },
  ),
  answer(
    "an image in base64, with its size and usage",
    {
      ...made({ b64_json: FOX }),
      size: "1024x1024",
      usage: { total_tokens: 100, input_tokens: 50, output_tokens: 50 },
    },
    {
      job: null,
      result: using({ total_tokens: 100, input_tokens: 50, output_tokens: 50 }, NO_OUTPUT),
    },
  ),
  answer(
    "an image with its link and in base64, with its size and without a time",
    { created: 0, data: [{ url: IMAGE, b64_json: FOX }], size: "1024x1024" },
    { job: null, result: completed([IMAGE], SQUARE) },
  ),
  answer("images without links and data", made({ revised_prompt: "a red fox" }), "unclear"),
  answer(
    "a task in place of an image",
    { code: 200, data: [{ status: "submitted", task_id: "task_1" }] },
    "unclear",
  ),
  answer("no images", made(), "unclear"),
  answer("an error in place of images", { error: { message: "Try again." } }, "unclear"),
];

/**
 * Examples of the call that generates images at a gateway and of the answers to it, which are the same for every
 * gateway.
 */
export const images = { call, result, others };

/** Example of the answer of a gateway that has no upstream for the requested model. Its HTTP status is 503. */
export const NO_CHANNEL = {
  error: {
    code: "model_not_found",
    message: "No available channel for model wan-3.0 under group default (distributor)",
    type: "new_api_error",
  },
};
