import { expect, it } from "vitest";
import { contentHeaders } from "../../src/api/outputs/output-headers.ts";
import { ID } from "./builders.ts";

/** Beginning of the id of the task. */
const SHORT = ID.slice(0, 8);
const OUTPUT = { taskId: ID, number: 1, mediaType: "video/mp4", extension: "mp4" };

it("a video behind a link of the relay is shown inline, has a file name that says what it is, and pages of other sites may use it", () => {
  expect(contentHeaders(OUTPUT)).toEqual({
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
    "Content-Disposition": `inline; filename="video-${SHORT}-1.mp4"`,
    "Content-Security-Policy":
      "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox",
    "Content-Type": "video/mp4",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Origin-Agent-Cluster": "?1",
    "Referrer-Policy": "no-referrer",
    "X-DNS-Prefetch-Control": "off",
    "X-Download-Options": "noopen",
    "X-Permitted-Cross-Domain-Policies": "none",
    "X-XSS-Protection": "0",
  });
});

it.each([
  ["application/octet-stream", "mp4"],
  ["application/pdf", "pdf"],
  ["text/html", "mp4"],
])(
  "an output of the type %s is offered for download as .%s, even when the extension of its link is that of a video",
  (mediaType, extension) => {
    const headers = contentHeaders({ ...OUTPUT, mediaType });
    expect(headers["Content-Disposition"]).toBe(
      `attachment; filename="file-${SHORT}-1.${extension}"`,
    );
  },
);

it.each([
  ["image/png", "bin", "image", "png"],
  ["image/jpeg", "jpeg", "image", "jpeg"],
  ["video/mp4", "mov", "video", "mp4"],
  ["audio/wav", "wav", "audio", "wav"],
])(
  "an output of the media type %s whose link ends in .%s has a file name that begins with %s and ends in .%s",
  (mediaType, named, kind, extension) => {
    const headers = contentHeaders({ ...OUTPUT, mediaType, extension: named });
    expect(headers["Content-Disposition"]).toBe(
      `inline; filename="${kind}-${SHORT}-1.${extension}"`,
    );
  },
);
