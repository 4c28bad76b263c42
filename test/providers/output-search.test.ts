import { describe, expect, it } from "vitest";
import { outputLinks } from "../../src/providers/output-search.ts";

const A = "https://cdn.example.com/a.mp4";
const B = "https://cdn.example.com/b.png";
const C = "https://cdn.example.com/c.wav";

const wordsIn = (...lines: readonly string[]) => lines.flatMap((line) => line.split(" "));

const isCover = (name: string, owner: object) => name === "image_url" && "a" in owner;

describe("the search for outputs in an answer", () => {
  it("the search for outputs in an answer returns first the links at the places where the provider documents outputs, then all other links in their order, each link once", () => {
    const part = { sound: C, frames: [{ url: B }, { url: A }], deep: { er: [[{ file: B }]] } };
    expect(outputLinks({ main: [undefined, null, [A]], part })).toEqual([A, C, B]);
    expect(outputLinks({ main: [], part })).toEqual([C, B, A]);
    expect(outputLinks({ main: [{ b: B }, A] })).toEqual([B, A]);
  });

  it.each([
    ["a list as JSON", `["${A}", "${B}"]`],
    ["an object as JSON, in another one", JSON.stringify({ x: JSON.stringify({ urls: [A, B] }) })],
    ["links with commas between them", `${A},${B}`],
    ["links with commas and blanks between them", `${A}, ${B}`],
    ["links in lines", `${A}\n${B}\n`],
  ])("the search for outputs finds both links in an answer whose text is %s", (_, text) => {
    expect(outputLinks({ main: [], part: { result: text } })).toEqual([A, B]);
  });

  it("the search for outputs in an answer leaves out a rendered picture or video when the answer has a link to the 3D model, and takes it when there is no such link", () => {
    for (const name of ["rendered_image", "renderImageUrl", "rendered_video"]) {
      const render = name.endsWith("Url") ? B : { url: B };
      expect(outputLinks({ main: [], part: { [name]: render, pbr_model: { url: C } } })).toEqual([
        C,
      ]);
      expect(outputLinks({ main: [], part: { [name]: render, model: "m-1" } })).toEqual([B]);
    }
  });

  it.each([
    ["a sentence that begins with a link", `${B} was made`],
    ["a sentence that contains a link", `made: ${B}`],
    ["a path", "/srv/output/b.png"],
    ["an address without a scheme", "//cdn.example.com/b.png"],
    ["an address with the scheme s3", "s3://bucket/b.png"],
    ["broken JSON", `["${B}"`],
  ])("the search for outputs in an answer takes no link from %s", (_, text) => {
    expect(outputLinks({ main: [], part: { a: text, b: A } })).toEqual([A]);
  });

  it.each(
    wordsIn(
      "cover_url coverUrl cover_image_url preview previewVideo video_preview_url thumbnail",
      "thumbnails thumbnailurl THUMBNAIL_URL thumb posterURL poster input input_image",
      "inputImageURL request params parameters arguments prompt_image reference_images",
      "source_image_url paramJson init_image status_url cancelUrl polling_url webhook",
      "callBackUrl callback_url self response_url docs_url documentation error nodeErrors logs",
      "user",
    ),
  )("the search for outputs in an answer leaves out the member %s and everything in it", (name) => {
    const part = { [name]: B, inner: { [name]: { url: B }, a: A }, list: [{ [name]: [B] }] };
    expect(outputLinks({ main: [], part })).toEqual([A]);
  });

  it.each(
    wordsIn(
      "recovered_video discovery last_frame_url first_video_url mask_url message watermark_url",
      "origin_url source download_url source_separated_audio file model_urls config_file transcription_url",
      "streamAudioUrl base_color 封面图",
    ),
  )(
    "the search for outputs takes the link in the member %s of an answer, because this name does not say that the link is something else",
    (name) => {
      expect(outputLinks({ main: [], part: { [name]: B } })).toEqual([B]);
    },
  );

  it.each(["preview", "THUMBNAIL", "temp", "input", "user_input", "cover_image", "reference"])(
    "the search for outputs in an answer leaves out an object whose type or role is %s",
    (kind) => {
      const part = {
        files: [
          { type: kind, url: B },
          { role: kind, url: C },
          { type: "video", a: A },
        ],
      };
      expect(outputLinks({ main: [], part })).toEqual([A]);
    },
  );

  it("the search for outputs in an answer looks into an object named status, but ignores a link named status, an object named status_file, and links whose rel is self or cancel", () => {
    const status = { phase: "done", files: [{ url: B }] };
    const links = [
      { rel: "self", href: C },
      { rel: "output", href: A },
      { rel: "cancel", href: C },
    ];
    expect(outputLinks({ main: [], part: { status, links } })).toEqual([B, A]);
    expect(
      outputLinks({ main: [], part: [{ status: C }, { status_file: { url: C } }, A] }),
    ).toEqual([A]);
  });

  it("the search for outputs in an answer takes no link from an object that has links for calls of the API, such as get and cancel", () => {
    const part = { urls: { get: B, cancel: B, web: C }, result: { url: A, status: "done" } };
    expect(outputLinks({ main: [], part })).toEqual([A]);
  });

  it("the search for outputs takes a link where the provider documents outputs even if its name is cover, and elsewhere leaves out the members that the provider's adapter excludes", () => {
    const part = { cover: B, image_url: C, a: A };
    expect(outputLinks({ main: [part.cover], part, isLeftOut: isCover })).toEqual([B, A]);
  });

  it("the search for outputs takes the links in a list named previews only when the answer has no other output", () => {
    const previews = [{ audio: { url: C } }];
    expect(outputLinks({ main: [], part: { previews } })).toEqual([C]);
    expect(outputLinks({ main: [], part: { previews, a: A } })).toEqual([A]);
    expect(outputLinks({ main: [], part: { cover: B } })).toEqual([]);
  });

  it("the search for outputs ignores a link that is nested 10,000 lists deep, and takes no more than 2,000 links from an answer", () => {
    let deep: unknown = A;
    for (let i = 0; i < 10_000; i++) deep = [deep];
    expect(outputLinks({ main: [deep], part: deep })).toEqual([]);
    const many = Array.from({ length: 3_000 }, (_, i) => `${A}?${i}`);
    expect(outputLinks({ main: [many] })).toHaveLength(2_000);
  });
});
