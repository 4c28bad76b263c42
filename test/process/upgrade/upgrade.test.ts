import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { bookFaults, faultsOf } from "./faults.ts";
import { TASKS } from "./plan.ts";
import { type Upgraded, upgradeRun, type UpgradeReport } from "./run.ts";

/** Any other run is as good; this one can be had again with UPGRADE_SEED. */
const SEED = Number(process.env["UPGRADE_SEED"] ?? Math.floor(Math.random() * 1e9));

it("keeps every promise to 1,000 open tasks while releases follow one another, back and forth", async () => {
  console.log(`seed ${SEED}`);
  const report = await upgradeRun(SEED);
  const counts = countsOf(report);
  console.log(JSON.stringify(counts));
  const { upgraded, books } = report;
  const entries = books.flat();

  expect(upgraded).toHaveLength(TASKS);
  expect(upgraded.flatMap((one) => faultsOf(one, entries))).toEqual([]);
  expect(books.flatMap(bookFaults)).toEqual([]);
  expect(report.tooEarly).toEqual([]);
  for (const one of upgraded) expectGenuine(one, report);
  expect(report.output).not.toMatch(/alarm\.failed|loop\.failed|internal error/);

  // It was a test: every kind of thing was begun by one release and gone on with by the other.
  for (const [what, count] of Object.entries(counts.crossings)) {
    expect(count, what).toBeGreaterThan(0);
  }
});

/** Every callback is signed, whoever sent it. */
function expectGenuine({ life, posts }: Upgraded, { secrets }: UpgradeReport): void {
  const webhook = new Webhook(secrets.get(life.accountId ?? "") ?? "");
  for (const { body, headers } of posts) {
    expect(webhook.verify(body, headers)).toEqual(JSON.parse(body));
  }
}

function countsOf({ upgraded, books, releaseAt, lostAnswers }: UpgradeReport) {
  const count = (fits: (one: Upgraded) => boolean) => upgraded.filter(fits).length;
  const isCurrent = (time: number) => releaseAt(time).isCurrent;
  const spans = (one: Upgraded, from: boolean) =>
    one.endedAt !== null && isCurrent(one.bornAt) === from && isCurrent(one.endedAt) !== from;
  const goesOn = ({ posts }: Upgraded, from: boolean) =>
    posts.some(({ arrivedAt }, i) => {
      const next = posts[i + 1];
      return (
        next !== undefined && isCurrent(arrivedAt) === from && isCurrent(next.arrivedAt) !== from
      );
    });
  const outcomes = upgraded.flatMap(({ task }) => task.callback?.attempts ?? []);
  return {
    posts: upgraded.flatMap(({ posts }) => posts).length,
    interrupted: outcomes.filter(({ outcome }) => outcome === "interrupted").length,
    entries: books.flat().length,
    lostAnswers,
    crossings: {
      "begun before, ended after": count((one) => spans(one, false)),
      "begun after, ended before": count((one) => spans(one, true)),
      "callback begun before, gone on with after": count((one) => goesOn(one, false)),
      "callback begun after, gone on with before": count((one) => goesOn(one, true)),
      "ended by a hook": count(({ life }) => life.isHooked),
    },
  };
}
