import { describe, expect, it, vi } from "vitest";
import { editBody, type Found, scanBody } from "../../src/api/submit/json-body.ts";
import { failure } from "../../src/core/result.ts";
import { bytesOf } from "../../src/security/encoding.ts";

const HOOK = "https://relay.example.com/hooks/1";
const WATCHED = ["/model", "/metadata/callback_url", "/metadata/id", "/input/extra/hook"];

/** Returns what was found in a body; the fault when it is refused. */
function found(body: string | Uint8Array, watched: readonly string[] = WATCHED) {
  const scanned = scanBody(typeof body === "string" ? bytesOf(body) : body, watched);
  return scanned.ok ? Object.fromEntries(scanned.value.members) : scanned.error;
}

/** Sets members of a body, in which they were found before. */
function edit(bytes: Uint8Array, texts: Readonly<Record<string, string>>) {
  const scanned = scanBody(bytes, WATCHED);
  if (!scanned.ok) throw new Error(scanned.error.message);
  return editBody(bytes, scanned.value, new Map(Object.entries(texts)));
}

function partsOf(bytes: Uint8Array, texts: Readonly<Record<string, string>>) {
  const parts = edit(bytes, texts);
  if (!parts.ok) throw new Error(parts.error.message);
  return parts.value;
}

function edited(body: string, texts: Readonly<Record<string, string>>): string {
  return new TextDecoder().decode(bytesOf(...partsOf(bytesOf(body), texts)));
}

const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
const nested = (levels: number, open: string, inner: string, close: string) =>
  open.repeat(levels) + inner + close.repeat(levels);
const scalar = (value: unknown) => ({ kind: "scalar", value });

it("scanBody, which finds watched members in a submission body, folds the case of each member's name only once, however many names it watches", () => {
  const watched = Array.from({ length: 50 }, (_, i) => `/name${i}`);
  const body = `{${Array.from({ length: 100 }, (_, i) => `"NAME${i}":0`).join()}}`;
  const fold = vi.spyOn(String.prototype, "toUpperCase");
  const scanned = scanBody(bytesOf(body), watched);
  const folds = fold.mock.calls.length;
  fold.mockRestore();
  expect(scanned).toMatchObject({ ok: true, value: { lookalikes: new Set(watched) } });
  expect(folds).toBeLessThanOrEqual(watched.length + 100);
});

describe("scanBody", () => {
  it.each([
    "{}",
    " \t\r\n{ } \n",
    '{"a":[],"b":{},"c":[[],{}]}',
    '{"a":0,"b":-0,"c":-1.5e+300,"d":1E5,"e":0.0,"f":123456789012345678901234567890}',
    '{"a":true,"b":false,"c":null}',
    String.raw`{"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00\ud800":"\udfff"}`,
    '{"\u007f\u2028\u00a0\ufeff":"// no comment, /* none */ either"}',
    '{"a":1,"a":2,"b":{"model":1,"model":2}}',
    '{"":{"":""}}',
  ])("scanBody accepts the submission body %j, which JSON.parse accepts too", (text) => {
    expect(isJson(text)).toBe(true);
    expect(found(text)).not.toHaveProperty("message");
  });

  it.each([
    "",
    " ",
    "{",
    "}",
    "{}{}",
    '["a":1}',
    '("a":1}',
    "{} x",
    "{}]",
    '{"a":1}}',
    '{"a":[1}',
    '{"a":{1]',
    '{"a":[1,2,]}',
    '{"a":1,}',
    "{,}",
    '{"a":[,]}',
    '{"a":[1 2]}',
    '{"a" 1}',
    '{"a" 1 2}',
    '{"a","b"}',
    '{"a":}',
    '{"a"}',
    '{"a"::1}',
    '{"a":1 "b":2}',
    '{"a":1,,"b":2}',
    '{"a":1:2}',
    '{"a":1:"b"}',
    '{"a":[1:2]}',
    '{"a":"b":"c"}',
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{null:1}",
    '{["a"]:1}',
    "{\"a\":'b'}",
    '{"a":01}',
    '{"a":-01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":1.e5}',
    '{"a":1e}',
    '{"a":1e+}',
    '{"a":+1}',
    '{"a":-}',
    '{"a":--1}',
    '{"a":1_000}',
    '{"a":0x10}',
    '{"a":1n}',
    '{"a":Infinity}',
    '{"a":-Infinity}',
    '{"a":NaN}',
    '{"a":undefined}',
    '{"a":True}',
    '{"a":nul}',
    '{"a":nulll}',
    '{"a":true1}',
    '{"a":1true}',
    '{"a":"b',
    '{"a":"b\\',
    '{"a":"b\\"}',
    String.raw`{"a":"\x41"}`,
    String.raw`{"a":"\u00e"}`,
    String.raw`{"a":"\u00eg"}`,
    String.raw`{"a":"\u{e9}"}`,
    String.raw`{"a":"\'"}`,
    String.raw`{"a":"\U00e9"}`,
    String.raw`{"a":\u0031}`,
    '{"a":"\n"}',
    '{"a":"\r"}',
    '{"a":"\t"}',
    '{"a":"\u0000"}',
    '{"a":"\u001f"}',
    '{"a\n":1}',
    '{"a":"\\\n"}',
    '// comment\n{"a":1}',
    '{"a":1}// comment',
    '{"a":/* comment */1}',
    '{"a":1/**/}',
    '{"a":1}/*',
    '{"a":1}/',
    '{"a":1}\u0000',
    '{"a":\u00a01}',
    '{"a":1\u2028}',
    '{"a":1\u000b}',
    '{"a":1\u000c}',
    '{"a":1\u0085}',
    "{}\ufeff",
    '{"a":1}#',
    '{"a":`b`}',
    '{"a":/b/}',
    "{...{}}",
    '{"a"=1}',
    '{"a":1;"b":2}',
    "[]",
    '["a"]',
    '"a"',
    "1",
    "null",
  ])("scanBody refuses the submission body %j, which is no object in strict JSON", (text) => {
    expect(isJson(text) && text.trimStart().startsWith("{")).toBe(false);
    expect(found(text)).toEqual({ pointer: "", message: expect.stringContaining("must be ") });
  });

  it.each([
    ["a byte order mark", [0xef, 0xbb, 0xbf, 0x7b, 0x7d], "must not begin with a byte order mark"],
    [
      "UTF-16",
      [0x7b, 0x00, 0x7d, 0x00],
      "must be JSON as in RFC 8259, which it is not from byte 2 on",
    ],
    ["a byte that UTF-8 does not have", [0x7b, 0xff, 0x7d], "must be UTF-8"],
    ["a surrogate in UTF-8", [0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d], "must be UTF-8"],
    ["a spelling of / with two bytes", [0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x7d], "must be UTF-8"],
    ["no byte order mark, but a part of one", [0xc2, 0xbb], "must be a JSON object"],
    ["half a character", [0x7b, 0x7d, 0xe2, 0x82], "must be UTF-8"],
  ])("scanBody refuses a submission body with %s", (_, bytes, message) => {
    expect(found(new Uint8Array(bytes))).toEqual({ pointer: "", message });
  });

  it.each([
    ['{"é😀": "x", }', 17],
    ['{"a":"b', 6],
    ['{"a":1.}', 6],
    ['{"a":1', 7],
  ])(
    "scanBody refuses a submission body that is not JSON, and names the byte from which on it is not: for %j this is byte %i",
    (body, byte) => {
      const message = `must be JSON as in RFC 8259, which it is not from byte ${byte} on`;
      expect(found(body)).toEqual({ pointer: "", message });
    },
  );

  it("scanBody accepts 256 levels of objects and lists in a submission body, the body included, and refuses 257", () => {
    const message = "must not be nested deeper than 256";
    for (const [open, inner, close] of [
      ["[", "1", "]"],
      ['{"a":', "{}", "}"],
    ] as const) {
      const levels = inner === "{}" ? 254 : 255;
      expect(found(`{"a":${nested(levels, open, inner, close)}}`)).toEqual({});
      const deeper = `{"a":${nested(levels + 1, open, inner, close)}}`;
      expect(found(deeper)).toEqual({ pointer: "", message });
    }
  });

  it("scanBody refuses a million opening brackets in a submission body as it refuses 257, without a call stack that grows with them", () => {
    expect(found(`{"a":${"[".repeat(1_000_000)}`)).toEqual({
      pointer: "",
      message: "must not be nested deeper than 256",
    });
  });

  it("scanBody accepts a submission body with a thousand lists of 200 levels side by side, because only the levels around a value count", () => {
    const lists = Array.from({ length: 1_000 }, () => nested(200, "[", "", "]"));
    expect(found(`{"a":[${lists.join(",")}],"model":"m"}`)).toEqual({ "/model": scalar("m") });
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    [
      '{"model":"m","metadata":{"id":"7","callback_url":null}}',
      {
        "/model": scalar("m"),
        "/metadata/id": scalar("7"),
        "/metadata/callback_url": scalar(null),
      },
    ],
    [String.raw`{"m\u006fdel":"\u006d\n\ud83d\ude00\ud800"}`, { "/model": scalar("m\n😀\ud800") }],
    ['{"x":"é😀","model":"é😀","y":"é"}', { "/model": scalar("é😀") }],
    [' { "x" : 1 , "model" : "m" } ', { "/model": scalar("m") }],
    ['{"x":"กก","model":"€€","y":"é"}', { "/model": scalar("€€") }],
    ['{"model":-0.5e-3}', { "/model": scalar(-0.0005) }],
    [
      '{"model":9007199254740993}',
      { "/model": { ...scalar(9_007_199_254_740_992), digits: "9007199254740993" } },
    ],
    [
      '{"model":true,"metadata":{"id":false}}',
      { "/model": scalar(true), "/metadata/id": scalar(false) },
    ],
    ['{"model":{"model":1}}', { "/model": { kind: "object" } }],
    ['{"model":["m"],"metadata":[{"id":1}]}', { "/model": { kind: "array" } }],
    ['{"input":{"model":"m"},"list":[{"model":"m"}]}', {}],
    ['{"metadata":5}', {}],
    ['{"Model":"m","model ":"m","mode":"m","/model":"m"}', {}],
  ])(
    "scanBody finds in the submission body %s the watched members, each by its JSON Pointer",
    (body, members) => {
      expect(found(body)).toEqual(members);
    },
  );

  it.each(["/a~1b~0c", "/", "/0", "/é😀", "/__proto__", "/constructor/toString"])(
    "scanBody finds the member %s, although its name needs escapes, is empty or a number, or is a name of JavaScript's own",
    (pointer) => {
      const body = '{"a/b~c":1,"":1,"0":1,"é😀":1,"__proto__":1,"constructor":{"toString":1}}';
      expect(found(body, [pointer])).toEqual({ [pointer]: scalar(1) });
      expect(found("{}", [pointer])).toEqual({});
    },
  );

  it("scanBody finds in a submission body only members of objects: a JSON Pointer like /list/0 finds no item of a list", () => {
    expect(found('{"list":["m"]}', ["/list/0", "/list/length"])).toEqual({});
  });

  it.each<[string, string, Found]>([
    [
      "a string of 1,024 characters",
      `"${"é".repeat(1_024)}"`,
      { kind: "scalar", value: "é".repeat(1_024) },
    ],
    ["a string of 1,025 characters", `"${"é".repeat(1_025)}"`, { kind: "long" }],
    [
      "1,024 escapes",
      `"${String.raw`\u0061`.repeat(1_024)}"`,
      { kind: "scalar", value: "a".repeat(1_024) },
    ],
    ["1,025 escapes", `"${String.raw`\u0061`.repeat(1_025)}"`, { kind: "long" }],
    [
      "a number of 1,024 digits",
      "1".repeat(1_024),
      { kind: "scalar", value: Infinity, digits: "1".repeat(1_024) },
    ],
    ["a number of 1,025 digits", "1".repeat(1_025), { kind: "long" }],
    ["a string of a million characters", `"${"a".repeat(1_000_000)}"`, { kind: "long" }],
  ])(
    "scanBody reads the value of a watched member up to 1,024 characters, and only notes of a longer one that it is long: %s",
    (_, value, member) => {
      expect(found(`{"model":${value}}`)).toEqual({ "/model": member });
    },
  );

  it.each([
    ['{"model":1,"model":1}', "/model"],
    [String.raw`{"model":1,"m\u006fdel":1}`, "/model"],
    [String.raw`{"\u006d\u006f\u0064\u0065\u006c":1,"model":1}`, "/model"],
    ['{"metadata":{"id":1},"metadata":{}}', "/metadata"],
    ['{"metadata":1,"x":2,"metadata":null}', "/metadata"],
    ['{"metadata":{"id":{"id":1},"id":1}}', "/metadata/id"],
  ])(
    "scanBody refuses the submission body %s, which names %s twice, and says which member is repeated",
    (body, pointer) => {
      expect(found(body)).toEqual({ pointer, message: "must not be named twice" });
    },
  );

  it("scanBody refuses a submission body that names a watched member twice, however long the texts between are", () => {
    const long = `"${"x".repeat(100_000)}"`;
    expect(found(`{"model":1,${long}:1,"list":[${long}],"model":1}`)).toEqual({
      pointer: "/model",
      message: "must not be named twice",
    });
  });

  it.each(["", "model", "/a~", "/a~2", "model/"])(
    "scanBody throws when it is told to watch %j, because that is not a JSON Pointer to a member of an object",
    (pointer) => {
      expect(() => scanBody(bytesOf("{}"), [pointer])).toThrow("is no JSON Pointer");
    },
  );
});

describe("editBody", () => {
  it.each([
    ['{"metadata":{"callback_url":"x"}}', `{"metadata":{"callback_url":"${HOOK}"}}`],
    ['{"metadata":{"callback_url":null,"a":1}}', `{"metadata":{"callback_url":"${HOOK}","a":1}}`],
    ['{"metadata":{"callback_url": [1,{"b":2}] }}', `{"metadata":{"callback_url": "${HOOK}" }}`],
    ['{"metadata":{"callback_url":{"a":{}}}}', `{"metadata":{"callback_url":"${HOOK}"}}`],
    [
      String.raw`{"metadata":{"callback\u005furl":1.50}}`,
      String.raw`{"metadata":{"callback\u005furl":"${HOOK}"}}`,
    ],
    ['{"metadata":{}}', `{"metadata":{"callback_url":"${HOOK}"}}`],
    ['{"metadata":{ }}', `{"metadata":{"callback_url":"${HOOK}" }}`],
    ['{"metadata":{"a":1}}', `{"metadata":{"a":1,"callback_url":"${HOOK}"}}`],
    ['{"metadata":{"a":{"b":[]} }}', `{"metadata":{"a":{"b":[]},"callback_url":"${HOOK}" }}`],
    ["{}", `{"metadata":{"callback_url":"${HOOK}"}}`],
    ["{\n}\n", `{"metadata":{"callback_url":"${HOOK}"}\n}\n`],
    ['{"a":"}"}', `{"a":"}","metadata":{"callback_url":"${HOOK}"}}`],
    [
      '{\n  "n" : 12345678901234567890.10,\n  "é😀" : "\u{10ffff}\\ud800",\n  "n" : 1E400\n}',
      `{\n  "n" : 12345678901234567890.10,\n  "é😀" : "\u{10ffff}\\ud800",\n  "n" : 1E400,"metadata":{"callback_url":"${HOOK}"}\n}`,
    ],
    [
      '{"é":"😀","metadata":{"a":"€","callback_url":"😀é","b":"😀"},"c":"é"}',
      `{"é":"😀","metadata":{"a":"€","callback_url":"${HOOK}","b":"😀"},"c":"é"}`,
    ],
  ])(
    "editBody, which sets members of a submission body, changes %j to %j, and nothing else of it",
    (body, expected) => {
      expect(edited(body, { "/metadata/callback_url": HOOK })).toBe(expected);
    },
  );

  it("editBody sets several members of a submission body in any order, and adds a missing object around them once", () => {
    const texts = { "/metadata/id": "7", "/model": "m", "/metadata/callback_url": HOOK };
    const metadata = `"metadata":{"callback_url":"${HOOK}","id":"7"}`;
    expect(edited("{}", texts)).toBe(`{"model":"m",${metadata}}`);
    expect(edited('{"model":1}', texts)).toBe(`{"model":"m",${metadata}}`);
    expect(edited('{"metadata":{"id":0,"callback_url":0},"model":1}', texts)).toBe(
      `{"metadata":{"id":"7","callback_url":"${HOOK}"},"model":"m"}`,
    );
  });

  it("editBody sets a member inside three nested objects of a submission body, and adds those of them that are missing", () => {
    const texts = { "/input/extra/hook": HOOK, "/model": "m" };
    const extra = `"extra":{"hook":"${HOOK}"}`;
    const [input, model] = [`"input":{${extra}}`, '"model":"m"'];
    expect(edited('{"input":{"extra":{"hook":{}}}}', texts)).toBe(`{${input},${model}}`);
    expect(edited('{"input":{"extra":{}}}', texts)).toBe(`{${input},${model}}`);
    expect(edited('{"input":{"a":{}}}', texts)).toBe(`{"input":{"a":{},${extra}},${model}}`);
    expect(edited('{"a":{}}', texts)).toBe(`{"a":{},${model},${input}}`);
  });

  it("editBody changes nothing of a submission body when no member is to be set", () => {
    expect(edited('{ "model" : 1.0 }', {})).toBe('{ "model" : 1.0 }');
  });

  it.each(['a"b\\c\n', "é😀", "\ud800", "</script>", ""])(
    "editBody writes the text %j into a submission body so that JSON.parse reads the same text",
    (text) => {
      expect(JSON.parse(edited('{"model":"x"}', { "/model": text }))).toEqual({ model: text });
    },
  );

  it.each(["1", "null", '"x"', "[]", '[{"callback_url":1}]'])(
    "editBody fails when the value in a submission body that should hold the new member is %s, and names the JSON Pointer of that value",
    (value) => {
      const body = bytesOf(`{"metadata":${value}}`);
      expect(edit(body, { "/metadata/callback_url": HOOK })).toEqual(
        failure({ pointer: "/metadata", message: "must be an object" }),
      );
      const inner = bytesOf(`{"input":{"extra":${value}}}`);
      expect(edit(inner, { "/input/extra/hook": HOOK, "/model": "m" })).toEqual(
        failure({ pointer: "/input/extra", message: "must be an object" }),
      );
      expect(edited(`{"metadata":${value}}`, { "/model": "m" })).toBe(
        `{"metadata":${value},"model":"m"}`,
      );
    },
  );

  it("editBody returns the new submission body as a list of non-empty parts; the unchanged ones are not copied from the given body", () => {
    const texts = { "/model": "m", "/metadata/id": "7" };
    const isView = (bytes: Uint8Array) =>
      partsOf(bytes, texts).map((part) => part.length > 0 && part.buffer === bytes.buffer);
    expect(isView(bytesOf('{"model":"x","a":"é"}'))).toEqual([true, false, true, false, true]);
    expect(isView(bytesOf('{"model":"x"}'))).toEqual([true, false, false, true]);
  });

  it("editBody returns the right new submission body when the given body is itself a part of a longer buffer", () => {
    const bytes = bytesOf('[{"é":1,"model":"x"}]').subarray(1, -1);
    const parts = partsOf(bytes, { "/model": "m" });
    expect(new TextDecoder().decode(bytesOf(...parts))).toBe('{"é":1,"model":"m"}');
  });

  it.each([
    [{ "/other": "x" }, "/other was not watched"],
    [{ "/metadata": "x", "/metadata/id": "7" }, "/metadata/id is inside of /metadata"],
  ])(
    "editBody throws when it is told to set members of a submission body that it was not prepared to set, or of which one lies in another: %j",
    (texts, message) => {
      expect(() => edited("{}", texts)).toThrow(message);
    },
  );
});
