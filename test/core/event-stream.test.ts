import { expect, it } from "vitest";
import { EventStream } from "../../src/objects/call/event-stream.ts";
import { bytesOf } from "../../src/security/encoding.ts";
import { piecesOf } from "./answers.ts";

/** Returns the name and the data of each event in a stream that arrives in pieces of this size. */
function eventsIn(text: string, size: number): readonly (readonly [string, string])[] {
  const stream = new EventStream();
  const events: (readonly [string, string])[] = [];
  let data: Uint8Array[] = [];
  const pieces = piecesOf(bytesOf(text), size);
  for (const part of [...pieces.flatMap((piece) => [...stream.push(piece)]), ...stream.end()]) {
    if (part.kind === "data") {
      data.push(part.bytes);
    } else {
      events.push([part.name, new TextDecoder().decode(bytesOf(...data))]);
      data = [];
    }
  }
  return events;
}

it.each<[string, string, readonly (readonly [string, string])[]]>([
  ["has a name and data", 'event: a\ndata: {"b":1}\n\n', [["a", '{"b":1}']]],
  ["has its name after its data", "data: {}\nevent: a\n\n", [["a", "{}"]]],
  [
    "has no name after one that has",
    "event: a\ndata: {}\n\ndata: 1\n\n",
    [
      ["a", "{}"],
      ["", "1"],
    ],
  ],
  ["has several lines of data", "data: {\ndata: }\n\n", [["", "{\n }"]]],
  ["has no space before its data", "data:{}\n\n", [["", "{}"]]],
  ["ends with the stream", "data: {}", [["", "{}"]]],
  [
    "has an id and a long comment",
    `id: 1\n:${":".repeat(999)}\nretry: 9\ndata: {}\n\n`,
    [["", "{}"]],
  ],
  ["has no data", "event: a\n\n: ping\n\ndata:\n\n", []],
  ["has a field whose name only begins like data", "data-x: 1\ndatas: 1\n\n", []],
])("an event that %s is read, in whatever pieces the stream arrives", (_, text, events) => {
  for (const size of [1, 2, 3, 10_000]) expect(eventsIn(text, size)).toEqual(events);
});

it("the lines of a stream of events may end with CRLF, whose return stays at the end of the data", () => {
  for (const size of [1, 2, 3, 100]) {
    expect(eventsIn("event: a\r\ndata: {}\r\n\r\n", size)).toEqual([["a", "{}\r"]]);
  }
});
