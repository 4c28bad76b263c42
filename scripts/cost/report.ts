import { CONTENDERS, type JobLife, type JobPrice } from "./job.ts";
import type { Order } from "./options.ts";
import { PLAN_DOLLARS, type Price, PRICES } from "./prices.ts";
import { streamUsage } from "./readers.ts";
import { type Bill, billOf } from "./usage.ts";

const MILLION = 1_000_000;
const NAME_WIDTH = 30;
const NUMBER_WIDTH = 22;

/**
 * Returns the output of `npm run cost`: each line of the relay's bill, and the sums of the alternatives beside
 * it.
 */
export function report(order: Order): string {
  const bills = Object.entries(CONTENDERS).map(
    ([name, usage]) => [name, billOf(usage(order), order.tasks)] as const,
  );
  const own = billOf(CONTENDERS["Task Relay"](order), order.tasks);
  return [
    describe(order),
    "",
    row("Task Relay", "units", "list price"),
    ...own.lines.map(({ meter, units, dollars }) =>
      row(PRICES[meter].title, unitsOf(units, PRICES[meter]), money(dollars)),
    ),
    row("sum", "", money(own.dollars)),
    "",
    row("the same job", "list price", "beyond the plan"),
    ...bills.map(([name, { dollars, dollarsBeyondPlan }]: readonly [string, Bill]) =>
      row(name, money(dollars), money(dollarsBeyondPlan)),
    ),
    "",
    `Beyond the plan: less what the Paid plan ($${PLAN_DOLLARS} a month) includes, if nothing else uses it.`,
    "Prices, sources, and what the others leave out: docs/cost.md.",
  ].join("\n");
}

const PRICE_WORDS: Readonly<Record<JobPrice, string>> = {
  none: "",
  fixed: " at a fixed price",
  usage: " at a price by usage",
};

function describe(order: Order): string {
  const { tasks, retryRate, receiverMs, watchers, hasAccount, price, isQueued } = order;
  const index = isQueued ? "index through the queue" : "index";
  const failing = `${Number((retryRate * 100).toFixed(4))} % of the attempts fail`;
  return [
    `${whole(tasks)} tasks${hasAccount ? ` of accounts${PRICE_WORDS[price]}` : ""}`,
    endOf(order),
    failing,
    `receivers take ${receiverMs} ms`,
    ...(watchers === 0 ? [] : [readersText(order)]),
    ...(order.outputs === 0 ? [] : [outputsText(order)]),
    index,
  ].join(", ");
}

const BEGINNINGS: Readonly<Record<JobLife, string>> = {
  event: "only the end reported",
  registered: "registered, end reported",
  hooks: "registered, hooks of the upstream",
  submitted: "submitted, hooks of the upstream",
};

function endOf({ life, polls, pollLateness, jobS }: Order): string {
  if (polls === 0) return BEGINNINGS[life];
  const by = pollLateness === null ? "" : ` of a job of ${jobS} s at POLL_LATENESS ${pollLateness}`;
  return `${polls} polls${by}`;
}

function readersText({ watchers, jobS }: Order): string {
  const { dollars } = billOf(streamUsage(jobS), watchers * MILLION);
  const readers = watchers === 1 ? "1 stream" : `${watchers} streams`;
  return `${readers} of ${jobS} s (${money(dollars)} per million tasks)`;
}

function outputsText({ outputs, outputMb, outputDays, outputReads, isChunked }: Order): string {
  const named = outputs === 1 ? "1 output" : `${outputs} outputs`;
  const length = isChunked ? " of unknown length" : "";
  const reads = outputReads === 1 ? "once" : `${outputReads} times`;
  return `${named} of ${outputMb} MB${length} kept for ${outputDays} days and read ${reads}`;
}

function row(name: string, ...numbers: readonly string[]): string {
  return name.padEnd(NAME_WIDTH) + numbers.map((text) => text.padStart(NUMBER_WIDTH)).join("");
}

function unitsOf(units: number, { per, unit }: Price): string {
  return per === 1 ? `${units.toFixed(2)} ${unit}` : whole(units);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function money(dollars: number): string {
  return `$${dollars.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
