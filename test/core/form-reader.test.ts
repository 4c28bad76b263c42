import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundaryOf, FormReader } from "../../src/objects/call/form-reader.ts";

const FORM_TYPE = "multipart/form-data; boundary=fox";

fc.configureGlobal({ seed: 20_261_121 });

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Reads a form that arrives in these pieces. */
function read(pieces: readonly Uint8Array[], boundary = "fox") {
  const compared: number[] = [];
  const reader = new FormReader(boundary, (bytes) => bytes.forEach((byte) => compared.push(byte)));
  for (const piece of pieces) reader.write(piece);
  const fault = reader.end();
  return { fault, fields: reader.fields, digest: compared.join() };
}

/** Returns the text of a part of a form. */
function part(disposition: string, content = "fox", further = ""): string {
  return `--fox\r\nContent-Disposition: ${disposition}\r\n${further}\r\n${content}\r\n`;
}

function formOf(...parts: readonly string[]): Uint8Array {
  return bytesOf(`${parts.join("")}--fox--\r\n`);
}

const MODEL = part('form-data; name="model"', "gpt-image-1");
const IMAGE = part(
  'form-data; name="image[]"; filename="a; name=\\"model\\".png"',
  "\r\n--fo\r\n--\r\r\n-",
  "Content-Type: image/png\r\n",
);
const FIELDS = [
  { name: "model", text: "gpt-image-1" },
  { name: "image[]", text: null },
];

describe("a form", () => {
  it("is read with the same result wherever its bytes are divided into pieces", () => {
    const form = formOf("before the first boundary\r\n", MODEL, IMAGE);
    const whole = read([form]);
    expect(whole).toMatchObject({ fault: null, fields: FIELDS });
    for (let at = 0; at <= form.length; at++) {
      expect(read([form.slice(0, at), form.slice(at)])).toEqual(whole);
    }
    expect(read([...form].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it("as the runtime writes it has the fields that the runtime reads", async () => {
    const name = fc.stringMatching(/^[a-z_[\]. -]{1,12}$/);
    // Readers differ in whether a backslash in the name of a file escapes what follows.
    const names = fc
      .string({ unit: "grapheme", minLength: 1 })
      .map((text) => text.replaceAll("\\", "/"));
    const file = fc.tuple(name, fc.uint8Array({ maxLength: 64 }), names);
    const entry = fc.oneof(fc.tuple(name, fc.string({ unit: "grapheme" })), file);
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (entries) => {
        const form = new FormData();
        for (const [field, value, fileName] of entries) {
          if (typeof value === "string") form.append(field, value);
          else form.append(field, new Blob([new Uint8Array(value)]), fileName ?? "file");
        }
        const response = new Response(form);
        const type = response.headers.get("Content-Type") ?? "";
        const body = new Uint8Array(await response.clone().arrayBuffer());
        const { fault, fields } = read([body], boundaryOf(type) ?? "");
        const known = [...(await response.formData())].map(([field, value]) => ({
          name: field,
          text: typeof value === "string" ? value : null,
        }));
        expect({ fault, fields }).toEqual({ fault: null, fields: known });
      }),
    );
  });

  it("has the same digest with another boundary, because clients draw it anew when they repeat a call", () => {
    const other = new TextDecoder().decode(formOf(MODEL, IMAGE)).replaceAll("--fox", "--box-1");
    expect(read([bytesOf(other)], "box-1").digest).toBe(read([formOf(MODEL, IMAGE)]).digest);
  });

  it.each([
    ["another order of its parts", formOf(IMAGE, MODEL)],
    ["another text", formOf(MODEL.replace("gpt-image-1", "gpt-image-2"), IMAGE)],
    ["a part less", formOf(MODEL)],
    ["another name of a file", formOf(MODEL, IMAGE.replace(".png", ".jpg"))],
    [
      "a byte moved from one text to the next",
      formOf(part('form-data; name="a"', "12"), part('form-data; name="b"', "3")),
    ],
    [
      "this byte left where it was",
      formOf(part('form-data; name="a"', "1"), part('form-data; name="b"', "23")),
    ],
  ])("with %s has another digest", (_, form) => {
    const others = [
      formOf(MODEL, IMAGE),
      formOf(part('form-data; name="a"', "123"), part('form-data; name="b"', "")),
    ];
    expect(others.map((other) => read([other]).digest)).not.toContain(read([form]).digest);
  });

  it.each([
    ["without its closing boundary", bytesOf(MODEL)],
    ["with something behind a boundary", bytesOf(MODEL.replace("--fox", "--foxes"))],
    ["with a part without a name", formOf(part("form-data"))],
    ["with a part of another kind", formOf(part('attachment; name="model"'))],
    [
      "with a part without Content-Disposition",
      formOf("--fox\r\nContent-Type: text/plain\r\n\r\nfox\r\n"),
    ],
    [
      "with a part that has two of them",
      formOf(part('form-data; name="a"', "fox", 'Content-Disposition: form-data; name="b"\r\n')),
    ],
    ["with a part that has two names", formOf(part('form-data; name="a"; name="b"'))],
    ["with a file whose name is empty", formOf(part('form-data; name="a"; filename=""'))],
    [
      "with a file whose name stands in filename* alone",
      formOf(part(`form-data; name="a"; filename*=utf-8''a.png`)),
    ],
    ["with an escaped character in a name", formOf(part('form-data; name="mo\\del"'))],
    ["with an encoded character in a name", formOf(part('form-data; name="mod%65l"'))],
    [
      "with a text in base64",
      formOf(part('form-data; name="a"', "Zm94", "Content-Transfer-Encoding: base64\r\n")),
    ],
    [
      "with a text in another charset",
      formOf(part('form-data; name="a"', "fox", "Content-Type: text/plain; charset=utf-16\r\n")),
    ],
    [
      "with a text that is not UTF-8",
      new Uint8Array([
        ...bytesOf(part('form-data; name="a"', "").slice(0, -2)),
        0xff,
        ...bytesOf("\r\n--fox--"),
      ]),
    ],
    ["with a folded header", formOf(part('form-data;\r\n name="a"'))],
    [
      "with a header of 9 KB",
      formOf(part('form-data; name="a"', "fox", `X: ${"x".repeat(9_000)}\r\n`)),
    ],
    ["with 257 parts", formOf(MODEL.repeat(257))],
    ["with 257 KiB of text", formOf(part('form-data; name="a"', "x".repeat(257 * 1024)))],
  ])("%s is refused", (_, form) => {
    expect(read([form]).fault).toMatch(/^must /);
  });
});

it.each([
  [FORM_TYPE, "fox"],
  ['Multipart/Form-Data; charset=utf-8; boundary="a b"', "a b"],
  ["multipart/mixed; boundary=fox", null],
  ["multipart/form-data", null],
  ["multipart/form-data; boundary=", null],
  ["multipart/form-data; boundary=a; boundary=b", null],
  [`multipart/form-data; boundary=${"a".repeat(71)}`, null],
  ["", null],
])("the boundary in the Content-Type %j is %j", (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary);
});
