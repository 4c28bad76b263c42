import { describe, expect, it } from "vitest";
import { isInputLink, linkDigest, withoutInputLinks } from "../../src/core/record/input-links.ts";
import { nextStep } from "../../src/core/step.ts";
import { NOW, POLICY, MINUTE } from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import {
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  accepted,
} from "./submission-builders.ts";
import { anAttachedTask, aPollEnd, newsAnswer } from "./upstream-builders.ts";

const INPUT = "https://client.example.com/in.png";
const OUTPUT = "https://cdn.example.com/out.png";
const completed = (urls: readonly string[]) =>
  ({ status: "completed", completedAt: null, urls, metadata: {} }) as const;
const urlsIn = ({ body }: { readonly body: string }): unknown => JSON.parse(body).output.urls;
const SUBMISSION = { inputLinks: [linkDigest(INPUT)] };

describe("the digest of a link", () => {
  it("is a short text that no other of many similar links has", () => {
    const links = Array.from(
      { length: 20_000 },
      (_, i) => `https://cdn.example.com/${i}/a.png?b=${i % 7}`,
    );
    const digests = links.map(linkDigest);
    expect(new Set(digests).size).toBe(links.length);
    expect(digests.every((digest) => /^[a-z\d]{8,14}$/.test(digest))).toBe(true);
  });

  it("differs by the order of the characters, by a character beyond ASCII, and for an empty text", () => {
    const digests = ["", "ab", "ba", "b\u00e1", "b\u0161", "aa", "aaa"].map(linkDigest);
    expect(new Set(digests).size).toBe(digests.length);
  });

  it("is the same in every release, because tasks store it", () => {
    expect([linkDigest(""), linkDigest(INPUT)]).toEqual(["ztntfp0b1v8rz", "1h8hm6y0jna9sc"]);
  });
});

describe("a success with a link that the job got as input", () => {
  it("has its other links alone", () => {
    expect(withoutInputLinks(completed([INPUT, OUTPUT]), SUBMISSION)).toEqual(completed([OUTPUT]));
  });

  it("is one without output where it has no other link, and keeps its usage", () => {
    const usage = { seconds: 5 };
    expect(withoutInputLinks({ ...completed([INPUT]), usage }, SUBMISSION)).toEqual({
      status: "no_output",
      usage,
    });
    expect(withoutInputLinks(completed([INPUT]), SUBMISSION)).toEqual({ status: "no_output" });
  });

  it.each([
    ["of a task that the relay has not submitted", null],
    ["of a submission without known links", {}],
    ["of a submission with another link", { inputLinks: [linkDigest(OUTPUT)] }],
  ])("keeps it %s", (_, submission) => {
    const news = completed([INPUT]);
    expect(withoutInputLinks(news, submission)).toBe(news);
    expect(isInputLink(INPUT, submission ?? {})).toBe(false);
  });

  it.each(["queued", "processing", "no_output"] as const)(
    "is no matter for the state %s",
    (status) => {
      const news = { status };
      expect(withoutInputLinks(news, SUBMISSION)).toBe(news);
    },
  );
});

describe("a task that the relay has submitted with a link", () => {
  const submission = aSubmission({ ...SUBMISSION, state: accepted() });
  const task = anAttachedTask({}, { submission });
  const both = completed([INPUT, OUTPUT]);

  it("completes without this link by a poll, by a signed hook and by the answer to its submission", () => {
    const hook = aSubmissionHook(both, { isSigned: true });
    const sending = aSendingTask({ submission: aSubmission(SUBMISSION) });
    const ends = [
      finish(task, aPollEnd(newsAnswer(both))),
      finish(task, hook),
      finish(sending, aResultAtOnce(both)),
    ];
    expect(ends.map(urlsIn)).toEqual([[OUTPUT], [OUTPUT], [OUTPUT]]);
  });

  it("stays open, and is polled at once, when a signed hook reports a success with this link alone", () => {
    const hook = aSubmissionHook(completed([INPUT]), { isSigned: true });
    expect(apply(task, hook)).toMatchObject({ status: "pending" });
  });

  it("keeps the digests from its registration on, and gives them to its polls", () => {
    const registered = apply(null, aSubmittedRegistration({}, SUBMISSION));
    expect(registered.submission).toMatchObject(SUBMISSION);
    const step = nextStep(task, POLICY, NOW + MINUTE);
    expect(step).toMatchObject({ kind: "poll", poll: SUBMISSION });
  });
});
