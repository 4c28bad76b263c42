import { describe, expect, it } from "vitest";
import { aReceiver } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  NOTHING,
  post,
  refusal,
  register,
  START,
  START_S,
  stored,
  useClock,
  VIDEO,
} from "./support.ts";

useClock();

function output(fields: object) {
  return { output: { urls: [VIDEO], ...fields } };
}

const error = { code: "a", message: "b" };
const FIELDS: readonly [string, object, string][] = [
  ["an unknown status", { status: "done" }, "/status"],
  ["a status in upper case", { status: "COMPLETED" }, "/status"],
  ["the status of a registration", { status: "pending" }, "/status"],
  ["no status", { status: undefined }, "/status"],
  ["an id that is no UUID", { id: "42" }, "/id"],
  ["no id", { id: undefined }, "/id"],
  ["an id that is a number", { id: 42 }, "/id"],
  ["no output", { output: undefined }, "/output"],
  ["output that is a list", { output: [] }, "/output"],
  ["no output.urls", { output: {} }, "/output/urls"],
  ["empty output.urls", output({ urls: [] }), "/output/urls"],
  ["output.urls that is text", output({ urls: VIDEO }), "/output/urls"],
  ["an ftp output URL", output({ urls: [VIDEO, "ftp://a.example/b"] }), "/output/urls/1"],
  ["a javascript output URL", output({ urls: ["javascript:alert(1)"] }), "/output/urls/0"],
  ["a relative output URL", output({ urls: ["/video.mp4"] }), "/output/urls/0"],
  ["an empty output URL", output({ urls: [""] }), "/output/urls/0"],
  ["an output URL that is null", output({ urls: [null] }), "/output/urls/0"],
  ["metadata that is a list", output({ metadata: [] }), "/output/metadata"],
  ["a seed as text", output({ metadata: { seed: "42" } }), "/output/metadata/seed"],
  ["a seed with a fraction", output({ metadata: { seed: 1.5 } }), "/output/metadata/seed"],
  ["a ratio as number", output({ metadata: { ratio: 1 } }), "/output/metadata/ratio"],
  ["a duration as text", output({ metadata: { duration: "5" } }), "/output/metadata/duration"],
  [
    "a resolution as number",
    output({ metadata: { resolution: 7 } }),
    "/output/metadata/resolution",
  ],
  [
    "generate_audio as text",
    output({ metadata: { generate_audio: "true" } }),
    "/output/metadata/generate_audio",
  ],
  [
    "framespersecond with a fraction",
    output({ metadata: { framespersecond: 23.976 } }),
    "/output/metadata/framespersecond",
  ],
  ["an error on a completed event", { error }, "/error"],
  ["a completed_at with a fraction", { completed_at: START_S + 0.5 }, "/completed_at"],
  ["a negative completed_at", { completed_at: -1 }, "/completed_at"],
  ["a completed_at in milliseconds", { completed_at: START }, "/completed_at"],
  ["a completed_at as text", { completed_at: "now" }, "/completed_at"],
  ["a created_at in milliseconds", { created_at: 100_000_000_000 }, "/created_at"],
  ["a created_at with a fraction", { created_at: 0.5 }, "/created_at"],
  ["a negative created_at", { created_at: -5 }, "/created_at"],
  ["a model that is a number", { model: 5 }, "/model"],
  ["an empty model", { model: "" }, "/model"],
  ["a callback_url that is a number", { callback_url: 5 }, "/callback_url"],
  ["an account with a space", { account: "a b" }, "/account"],
  ["a failure without error", { status: "failed", output: null }, "/error"],
  ["a failure with text as error", { status: "failed", output: null, error: "x" }, "/error"],
  ["no error.code", { status: "failed", output: null, error: { message: "b" } }, "/error/code"],
  ["no error.message", { status: "failed", output: null, error: { code: "a" } }, "/error/message"],
  [
    "an empty error.code",
    { status: "failed", output: null, error: { ...error, code: "" } },
    "/error/code",
  ],
  ["output on a failed event", { status: "failed", error }, "/output"],
  ["output on a processing event", { status: "processing" }, "/output"],
  [
    "completed_at on a failed event",
    { status: "failed", output: null, error, completed_at: 5 },
    "/completed_at",
  ],
  [
    "completed_at on a processing event",
    { status: "processing", output: null, completed_at: 5 },
    "/completed_at",
  ],
  ["an error on a processing event", { status: "processing", output: null, error }, "/error"],
];

describe("POST /v1/events refuses", () => {
  it.each(FIELDS)("%s, naming the field, and changes nothing", async (_, fields, path) => {
    const received = aReceiver();
    const [known, unknown] = [await register(), crypto.randomUUID()];
    const before = await stored(known);
    for (const id of [known, unknown]) {
      const response = await post("/v1/events", aCompletion(id, { model: "m", ...fields }));
      expect(await refusal(response)).toEqual({
        status: 400,
        code: "invalid_request",
        paths: [path],
      });
    }
    expect(await stored(known)).toEqual(before);
    expect(await stored(unknown)).toEqual(NOTHING);
    expect(received).toEqual([]);
  });

  it("several faults at once, naming each", async () => {
    const event = aFailure("x", { error: { code: 1 }, created_at: -1 });
    const { paths } = await refusal(await post("/v1/events", event));
    expect(paths?.toSorted()).toEqual(["/created_at", "/error/code", "/error/message", "/id"]);
  });

  it.each([
    ["nothing", ""],
    ["an empty object", "{}"],
    ["a list", "[]"],
    ["text", '"completed"'],
    ["null", "null"],
    ["a number", "7"],
  ])("%s as a body", async (_, body) => {
    const { status, code, paths } = await refusal(await post("/v1/events", body));
    expect({ status, code }).toEqual({ status: 400, code: "invalid_request" });
    expect(paths).toHaveLength(1);
  });

  it.each([
    ["a body that ends early", '{"id":'],
    ["text after the object", "{} {}"],
    ["single quotes", "{'id':1}"],
    ["NaN", '{"id":NaN}'],
    ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
    ["a form", "id=1&status=completed"],
  ])("%s as invalid_json", async (_, body) => {
    expect(await refusal(await post("/v1/events", body))).toEqual({
      status: 400,
      code: "invalid_json",
      paths: [""],
    });
  });

  it("nesting beyond reason, without losing its breath", async () => {
    const body = `{"output":${"[".repeat(5000)}${"]".repeat(5000)}}`;
    expect(await refusal(await post("/v1/events", body))).toEqual({
      status: 400,
      code: "invalid_request",
      paths: [""],
    });
  });
});
