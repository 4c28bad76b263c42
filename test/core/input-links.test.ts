import { describe, expect, it } from "vitest";
import { isInputLink, linkDigest, withoutInputLinks } from "../../src/core/record/input-links.ts";
import { nextStep } from "../../src/core/step.ts";
import { NOW, POLICY, MINUTE } from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import {
  aCallingTask,
  aRefusal,
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  accepted,
} from "./submission-builders.ts";
import { anAttachedTask, aPollEnd, newsAnswer, UNANSWERED } from "./upstream-builders.ts";

const INPUT = "https://client.example.com/in.png";
const OUTPUT = "https://cdn.example.com/out.png";
const completed = (urls: readonly string[]) =>
  ({ status: "completed", completedAt: null, urls, metadata: {} }) as const;
const urlsIn = ({ body }: { readonly body: string }): unknown => JSON.parse(body).output.urls;
const SUBMISSION = { inputLinks: [linkDigest(INPUT)] };

describe("the digest of a link", () => {
  it("linkDigest makes different short hashes, by which links are compared, of 20,000 similar links", () => {
    const links = Array.from(
      { length: 20_000 },
      (_, i) => `https://cdn.example.com/${i}/a.png?b=${i % 7}`,
    );
    const digests = links.map(linkDigest);
    expect(new Set(digests).size).toBe(links.length);
    expect(digests.every((digest) => /^[a-z\d]{8,14}$/.test(digest))).toBe(true);
  });

  it("linkDigest makes different short hashes of two links with their characters in another order, with another non-ASCII character, or of which one is empty", () => {
    const digests = ["", "ab", "ba", "b\u00e1", "b\u0161", "aa", "aaa"].map(linkDigest);
    expect(new Set(digests).size).toBe(digests.length);
  });

  it("linkDigest makes the same short hash of a link in every release, because tasks store these hashes", () => {
    expect([linkDigest(""), linkDigest(INPUT)]).toEqual(["ztntfp0b1v8rz", "1h8hm6y0jna9sc"]);
  });
});

describe("a success with a link that the job got as input", () => {
  it("when a provider reports success with links, the relay removes those that the job got as input, and takes the others as outputs", () => {
    expect(withoutInputLinks(completed([INPUT, OUTPUT]), SUBMISSION)).toEqual(completed([OUTPUT]));
  });

  it("when the only link of a reported success is one that the job got as input, it counts as a success without output, with the usage that the provider reported", () => {
    const usage = { seconds: 5 };
    const without = (news: ReturnType<typeof completed>) => withoutInputLinks(news, SUBMISSION);
    const used = { ...completed([INPUT]), usage };
    expect(without(used)).toStrictEqual({ status: "no_output", usage });
    expect(without(completed([INPUT]))).toStrictEqual({ status: "no_output" });
  });

  it.each([
    ["of a task that the relay has not submitted", null],
    ["of a submission without known links", {}],
    ["of a submission with another link", { inputLinks: [linkDigest(OUTPUT)] }],
  ])(
    "when a provider reports success %s, the relay does not remove a link that only another job got as input",
    (_, submission) => {
      const news = completed([INPUT]);
      expect(withoutInputLinks(news, submission)).toBe(news);
      expect(isInputLink(INPUT, submission ?? {})).toBe(false);
    },
  );

  it.each(["queued", "processing", "no_output"] as const)(
    "when a provider reports the state %s of a job that got links as input, the relay does not change the report",
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

  it("the relay does not take a link in the submitted call for an output, whether a poll, a signed hook or the answer to the submission ends the task", () => {
    const hook = aSubmissionHook(both, { isSigned: true });
    const sending = aSendingTask({ submission: aSubmission(SUBMISSION) });
    const ends = [
      finish(task, aPollEnd(newsAnswer(both))),
      finish(task, hook),
      finish(sending, aResultAtOnce(both)),
    ];
    expect(ends.map(urlsIn)).toEqual([[OUTPUT], [OUTPUT], [OUTPUT]]);
  });

  it("a poll without an answer and a refused submission have their usual effect on a task that was submitted with a link", () => {
    expect(apply(task, aPollEnd(UNANSWERED))).toMatchObject({
      tracking: { poll: { unansweredSince: NOW } },
    });
    const sending = aCallingTask();
    const call = { ...sending, submission: aSubmission({ ...sending.submission, ...SUBMISSION }) };
    expect(finish(call, aRefusal(400))).toMatchObject({ failure: { category: "invalid_input" } });
  });

  it("a task stays open, and is polled at once, when the only link in a signed hook of success is one that was in the submitted call", () => {
    const hook = aSubmissionHook(completed([INPUT]), { isSigned: true });
    expect(apply(task, hook)).toMatchObject({ status: "pending" });
  });

  it("a task that the relay submits stores a short hash of each link in the call, and passes these hashes to the polls of its job", () => {
    const registered = apply(null, aSubmittedRegistration({}, SUBMISSION));
    expect(registered.submission).toMatchObject(SUBMISSION);
    const step = nextStep(task, POLICY, NOW + MINUTE);
    expect(step).toMatchObject({ kind: "poll", poll: SUBMISSION });
  });
});
