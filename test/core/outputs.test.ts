import { describe, expect, it } from "vitest";
import { firstOrderOf } from "../../src/core/duties/copy-order.ts";
import type { LinkableOutput } from "../../src/core/policy.ts";
import {
  areUrlsInBounds,
  MAX_OUTPUT_URL_CHARS,
  MAX_OUTPUT_URLS,
} from "../../src/core/record/upstream.ts";
import { sourcesOf } from "../../src/core/record/callback-body.ts";
import { areFetchedWithKey } from "../../src/core/record/outputs.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { outputPlaceOf } from "../../src/core/views/output-place.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import {
  aCompletion,
  aFailure,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aReport,
  CONNECTION,
  DAY,
  MINUTE,
  NOW,
  NOW_S,
  OUTPUT_LINKS,
  relayLink,
  VIDEO,
} from "./builders.ts";
import { expectRefused, expectUnchanged, finish } from "./decisions.ts";
import { aHook, anAttachedTask, aPollEnd, newsAnswer } from "./upstream-builders.ts";

const KEEPING = aPolicy({ outputs: OUTPUT_LINKS });
const IMAGE = "https://cdn.example.com/image.png?sig=1";
const KEPT = { kind: "kept", bytes: 1, mediaType: "image/png" } as const;
const COPYING = { kind: "copying" } as const;
const PLAIN = "http://cdn.example.com/video.mp4";

function urlsOf(record: TaskRecord): unknown {
  if (!isTerminal(record)) throw new Error("expected a terminal record");
  const { output }: { output?: { urls: unknown } } = JSON.parse(record.body);
  return output?.urls;
}

/** Returns the task as an event with these links ends it, where outputs are kept. */
function endedWith(...urls: readonly string[]) {
  return finish(anOpenTask(), aReport(aCompletion({ urls })), NOW, KEEPING);
}

describe("the links in the callback body of a completed task", () => {
  it("when the relay keeps copies of outputs, the links in a callback body are those of the relay, already while the copies are being made", () => {
    const task = endedWith(VIDEO, IMAGE);
    expect(urlsOf(task)).toEqual([relayLink(1), relayLink(2)]);
    expect(task.outputs).toEqual({
      expiresAt: (NOW_S + (7 * DAY) / 1000) * 1000,
      list: [
        { number: 1, source: VIDEO, state: COPYING },
        { number: 2, source: IMAGE, state: COPYING },
      ],
      order: { retryAt: NOW + MINUTE, tries: 0 },
      isUnproven: true,
    });
  });

  it.each([
    [
      "an unsigned hook of a provider that cannot be polled",
      aPolicy({ polls: new Map() }),
      aHook(aCompletion()),
    ],
    ["a poll", aPolicy(), aPollEnd(newsAnswer(aCompletion()))],
  ])(
    "when the relay keeps copies of outputs, the links in a callback body are those of the relay also if the result came from %s",
    (_, policy, event) => {
      const task = anAttachedTask();
      const ended = finish(task, event, NOW, { ...policy, outputs: OUTPUT_LINKS });
      expect(urlsOf(ended)).toEqual([relayLink(1)]);
      expect(ended.outputs?.list).toEqual([{ number: 1, source: VIDEO, state: COPYING }]);
    },
  );

  it("an output that the relay must not fetch (http:) has the upstream's own link in the callback body, but is counted, so that the output after it is number 2", () => {
    const task = endedWith(PLAIN, IMAGE);
    expect(urlsOf(task)).toEqual([PLAIN, relayLink(2)]);
    expect(task.outputs?.list).toEqual([{ number: 2, source: IMAGE, state: COPYING }]);
  });

  it("when the relay may fetch none of a task's outputs, the callback body has the upstream's own links, and nothing is stored about the outputs", () => {
    const task = endedWith(PLAIN);
    expect([urlsOf(task), task.outputs]).toEqual([[PLAIN], null]);
  });

  it("in a callback body, the first 32 outputs that the relay may fetch have links of the relay, and all further outputs the upstream's own", () => {
    const sources = Array.from({ length: 35 }, (_, index) => `${VIDEO}?n=${index + 1}`);
    const task = endedWith(PLAIN, ...sources);
    const links = Array.from({ length: 32 }, (_, index) => relayLink(index + 2));
    expect(urlsOf(task)).toEqual([PLAIN, ...links, ...sources.slice(32)]);
    expect(task.outputs?.list).toHaveLength(32);
  });

  it("the links in a callback body are the upstream's own when the relay keeps no copies of outputs", () => {
    const task = finish(anOpenTask(), aReport());
    expect([urlsOf(task), task.outputs]).toEqual([[VIDEO], null]);
  });
});

it("a failed task has no outputs", () => {
  const task = finish(anOpenTask(), aReport(aFailure()), NOW, KEEPING);
  expect([urlsOf(task), task.outputs]).toEqual([undefined, null]);
});

it("a result with 200 links of 8,000 characters completes the task also in a relay that keeps copies of outputs", () => {
  const urls = Array.from({ length: 200 }, (_, index) => `${VIDEO}?${index}`.padEnd(8_000, "x"));
  expect(areUrlsInBounds(urls) && urls.length < MAX_OUTPUT_URLS).toBe(true);
  expect(endedWith(...urls).status).toBe("completed");
});

describe("a result that is reported again to a task whose outputs are kept", () => {
  const task = endedWith(VIDEO, PLAIN);

  it("when the relay keeps copies of a task's outputs, an event that repeats the result with the upstream's own links changes nothing, even if the relay has stopped keeping copies since", () => {
    const again = aReport(aCompletion({ urls: [VIDEO, PLAIN] }));
    expectUnchanged(task, again, NOW + DAY, KEEPING);
    expectUnchanged(task, again, NOW + DAY);
  });

  it.each([
    ["another link", [IMAGE, PLAIN]],
    ["the links in another order", [PLAIN, VIDEO]],
    ["one link more", [VIDEO, PLAIN, IMAGE]],
    ["the relay's own link", [relayLink(1), PLAIN]],
  ])(
    "when the relay keeps copies of a task's outputs, an event that reports the result again is refused if it has %s",
    (_, urls) => {
      const other = aReport(aCompletion({ urls }));
      expectRefused(task, other, "conflicting_result");
    },
  );

  it("when the relay keeps copies of a task's outputs, an event that reports the result again is refused if it has other metadata", () => {
    const other = aReport(aCompletion({ urls: [VIDEO, PLAIN], metadata: { seed: 1 } }));
    expectRefused(task, other, "conflicting_result");
  });
});

describe("the upstream's own links to outputs that the relay keeps", () => {
  const task = endedWith(PLAIN, IMAGE);

  it("the upstream's own links to outputs that the relay copies are shown to the operator as source_urls, in the order of output.urls", () => {
    expect(JSON.parse(taskView(task, "operator"))).toMatchObject({
      output: { urls: [PLAIN, relayLink(2)] },
      source_urls: [PLAIN, IMAGE],
    });
  });

  it.each(["account", "link"] as const)(
    "the upstream's own links to outputs that the relay copies are not shown to readers with an account's key or a status link: here %s",
    (reader) => {
      const shown = taskView(task, reader);
      expect(shown).not.toContain("source_urls");
      expect(shown).not.toContain(IMAGE);
    },
  );

  it("the upstream's own links to outputs are not shown separately when output.urls already has them, and are read from there", () => {
    expect(taskView(aFinishedTask(), "operator")).not.toContain("source_urls");
    expect(sourcesOf(aFinishedTask())).toEqual([VIDEO]);
  });
});

describe("the origin of a task's outputs", () => {
  it.each([
    ["an event", true, aPolicy(), aReport(aCompletion())],
    ["an unsigned hook", true, aPolicy({ polls: new Map() }), aHook(aCompletion())],
    ["a signed hook", undefined, aPolicy(), aHook(aCompletion(), { isSigned: true })],
    ["a poll", undefined, aPolicy(), aPollEnd(newsAnswer(aCompletion()))],
  ])(
    "when %s has reported a task's outputs, the task stores whether it is unproven where they come from: %s",
    (_, isUnproven, policy, end) => {
      const asked: unknown[] = [];
      const linkTo = ({ number, ...output }: LinkableOutput) => {
        asked.push(output.isUnproven);
        return relayLink(number);
      };
      const outputs = { ...OUTPUT_LINKS, linkTo };
      const task = finish(anAttachedTask(), end, NOW, { ...policy, outputs });
      expect([asked, task.outputs?.isUnproven]).toEqual([[isUnproven], isUnproven]);
      expect(parseRecord(structuredClone(task))).toEqual(task);
    },
  );

  it("the order to copy a task's outputs says so when it is unproven where they come from, and says nothing otherwise", () => {
    const reported = endedWith(VIDEO);
    expect(firstOrderOf(anOpenTask(), reported)).toMatchObject({ isUnproven: true });
    const place = outputPlaceOf(reported, reported.recordedAt, 1);
    expect(place).toMatchObject({ source: VIDEO, isUnproven: true });
    const polled = finish(anAttachedTask(), aPollEnd(newsAnswer(aCompletion())), NOW, KEEPING);
    expect(firstOrderOf(anAttachedTask(), polled)).not.toHaveProperty("isUnproven");
    expect(outputPlaceOf(polled, polled.recordedAt, 1)).not.toHaveProperty("isUnproven");
  });
});

it("the record of a task whose outputs the relay copies is read from the storage as it was stored", () => {
  const task = endedWith(VIDEO, IMAGE);
  expect(parseRecord(structuredClone(task))).toEqual(task);
});

it("a result exceeds the limits of output links as soon as a single one of its links is longer than the limit", () => {
  const longest = VIDEO.padEnd(MAX_OUTPUT_URL_CHARS, "x");
  expect(areUrlsInBounds([VIDEO, longest])).toBe(true);
  expect(areUrlsInBounds([VIDEO, `${longest}x`])).toBe(false);
});

it.each([
  ["one of them is still being copied", [KEPT, COPYING], true],
  [
    "one of them is passed on from the upstream at each read",
    [KEPT, { kind: "streamed" } as const],
    true,
  ],
  ["all of them are copied", [KEPT, KEPT], false],
] as const)(
  "a task's outputs may still have to be fetched from the upstream with a key unless the copying of each of them has ended: here %s",
  (_, states, isFetched) => {
    const list = states.map((state, index) => ({ number: index + 1, source: IMAGE, state }));
    expect(areFetchedWithKey({ expiresAt: NOW + DAY, list, order: null })).toBe(isFetched);
  },
);

it("the links of the relay to outputs are made for the connection of the task, or for no connection when the task has none", () => {
  const seen: unknown[] = [];
  const linkTo = ({ connection, source }: LinkableOutput) => {
    seen.push(connection);
    return source;
  };
  const policy = aPolicy({ outputs: { ...OUTPUT_LINKS, linkTo } });
  finish(anAttachedTask(), aPollEnd(newsAnswer(aCompletion())), NOW + DAY, policy);
  finish(anOpenTask(), aReport(aCompletion()), NOW, policy);
  expect(seen).toEqual([CONNECTION, null]);
});
