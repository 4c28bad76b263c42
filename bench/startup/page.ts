import { quantile } from "../figures.ts";
import { table, textOf } from "../page.ts";
import type { Machine } from "../throughput/machine.ts";

export type Contender = "bare" | "relay";

/** CPU times of one fresh process, in milliseconds. */
export interface Start {
  /** CPU time until the Worker is ready for requests. */
  readonly startMs: number;
  /** CPU time of the first request to the Worker. */
  readonly firstMs: number;
  /** CPU time of the same request, made a second time. */
  readonly secondMs: number;
}

/** Pages of the console whose first request is measured; a browser that is logged in asks for them. */
export const PAGES = ["/", "/tasks", "/providers", "/login"] as const;

export type PagePath = (typeof PAGES)[number];

/** Largest accepted difference of the median CPU times of the first requests, relay less bare Worker, in ms. */
const LIMIT_MS = 4;
/** Largest accepted median CPU time of a start, in milliseconds: the first request to a new isolate waits for it. */
const START_LIMIT_MS = 400;

const PHASES = [
  ["start", "startMs"],
  ["first request", "firstMs"],
  ["second request", "secondMs"],
] as const;

/** Tells whether the starts and the first requests keep their limits. */
export function areLimitsKept(starts: Readonly<Record<Contender, readonly Start[]>>): boolean {
  return firstOverMs(starts) <= LIMIT_MS && medianOf(starts.relay, "startMs") <= START_LIMIT_MS;
}

function firstOverMs({ relay, bare }: Readonly<Record<Contender, readonly Start[]>>): number {
  return medianOf(relay, "firstMs") - medianOf(bare, "firstMs");
}

/** Returns the page that states the CPU time of starts and first requests. */
export function page(
  starts: Readonly<Record<Contender, readonly Start[]>>,
  pages: Readonly<Record<PagePath, readonly Start[]>>,
  machine: Machine,
): string {
  const rows = PHASES.map(([name, key]) => {
    const [bare, relay] = [figures(starts.bare, key), figures(starts.relay, key)];
    return [name, bare.text, relay.text, (relay.median - bare.median).toFixed(1)];
  });
  const ofPages = PAGES.map((path) => [
    `\`${path}\``,
    figures(pages[path], "firstMs").text,
    figures(pages[path], "secondMs").text,
  ]);
  const over = firstOverMs(starts);
  const verdict = over <= LIMIT_MS ? "kept" : "missed";
  const startMs = medianOf(starts.relay, "startMs");
  const startVerdict = startMs <= START_LIMIT_MS ? "kept" : "missed";
  return textOf({
    title: "Start-up",
    command: "bench -- --startup",
    machine,
    about: `${starts.relay.length} fresh processes of plain workerd each, in turns. CPU time of all threads of the process in milliseconds: median (least to most).`,
    parts: [
      table(["", "bare Worker", "relay", "difference of the medians"], rows),
      `The platform does not bill the start of a Worker, which it limits to a second; it bills what a request takes. The request is a registration with the operator's key, and the first one of its process. The bare Worker (\`bench/startup/bare-worker.ts\`) stores the body of the request in a new object and does nothing else. The limit for the first request, ${LIMIT_MS} ms more than the bare Worker's, is ${verdict}: ${over.toFixed(1)} ms. The first request to a new isolate waits for the start, so this has a limit too: ${START_LIMIT_MS} ms, ${startVerdict}: ${startMs.toFixed(1)} ms.`,
      `The same for pages of the console, each as the first request of ${pages["/"].length} fresh processes of the relay, without an index, of a browser that is logged in, uncompressed as a Worker on Cloudflare sends them:`,
      table(["page", "first request", "second request"], ofPages),
    ],
  });
}

function figures(starts: readonly Start[], key: keyof Start) {
  const values = starts.map((start) => start[key]);
  const median = medianOf(starts, key);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return { median, text: `${median.toFixed(1)} (${least.toFixed(1)} to ${most.toFixed(1)})` };
}

function medianOf(starts: readonly Start[], key: keyof Start): number {
  return quantile(
    starts.map((start) => start[key]),
    0.5,
  );
}
