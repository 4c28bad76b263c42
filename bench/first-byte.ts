import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { LOCAL_VARS, OPERATOR_KEY } from "../test/process/harness/client.ts";
import { bodyOf, LoopbackServer } from "../test/process/harness/loopback.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY, quantile } from "./figures.ts";
import { table } from "./page.ts";

// Measures how long a caller waits for the first and for the last byte of an answer that is the result, which the object
// of its call passes on: `npm run bench:submit -- --first-byte`, two minutes. Beside it stands a job, for which the Worker
// makes the call itself. A bundle of another build, whose path is a further argument, is measured in turns with this one.

const ROUNDS = 5;
const CALLS_OF_ROUND = 100;
const WARM_UP = 30;
const PICTURE_BYTES = 3_000_000;
const IMAGES = "/v1/images/generations";
const VIDEOS = "/v1/videos";
/** The beginning of a PNG, in base64. */
const PNG = "iVBORw0KGgo";

const JOB = { id: "video_1", object: "video", status: "queued" };
const LINK = { created: 1, data: [{ url: "https://cdn.example.net/fox.png" }] };
const PICTURE = { created: 1, data: [{ b64_json: PNG.padEnd((PICTURE_BYTES / 3) * 4, "A") }] };

interface Kind {
  readonly title: string;
  readonly path: string;
  readonly model: string;
  readonly answer: string;
}

const KINDS: readonly Kind[] = [
  { title: "job", path: VIDEOS, model: "job", answer: JSON.stringify(JOB) },
  { title: "link", path: IMAGES, model: "link", answer: JSON.stringify(LINK) },
  { title: "picture of 3 MB", path: IMAGES, model: "picture", answer: JSON.stringify(PICTURE) },
];

class Upstream extends LoopbackServer {
  private constructor() {
    super((asked, response) => void this.#answer(asked, response));
  }

  static async start(): Promise<Upstream> {
    return new Upstream().listen();
  }

  async #answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(asked);
    const { answer = "{}" } = KINDS.find(({ model }) => body?.includes(`"${model}"`)) ?? {};
    const length = Buffer.byteLength(answer);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length });
    response.end(answer);
  }
}

interface Waits {
  readonly first: number;
  readonly last: number;
}

const agent = new Agent({ keepAlive: true });

/** Makes one call, and returns how long its caller has waited, in milliseconds. */
async function waitsOf(base: string, { path, model, answer }: Kind): Promise<Waits> {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Content-Type": "application/json" };
  const startedAt = performance.now();
  const sent = request(base + path, { method: "POST", headers, agent });
  let first = NaN;
  let bytes = 0;
  sent.on("response", (response: IncomingMessage) => {
    response.on("data", (piece: Buffer) => {
      if (bytes === 0) first = performance.now() - startedAt;
      bytes += piece.length;
    });
  });
  sent.end(JSON.stringify({ model, prompt: "a fox" }));
  await once(sent, "close");
  if (bytes !== Buffer.byteLength(answer)) throw new Error(`${model}: ${bytes} bytes arrived`);
  return { first, last: performance.now() - startedAt };
}

await using stack = new AsyncDisposableStack();
const upstream = stack.use(await Upstream.start());
const vars = {
  ...LOCAL_VARS,
  PUBLIC_URL: "https://relay.example.com",
  OPENAI_VIDEOS_API_KEY: "benchmark-key",
  OPENAI_VIDEOS_BASE_URL: upstream.origin,
};

const bases = new Map([["none", upstream.origin]]);
const [other = null] = process.argv.slice(2).filter((argument) => argument.endsWith(".js"));
const scripts = new Map([
  ["this build", null],
  ...(other === null ? [] : [["other", other] as const]),
]);
for (const [name, path] of scripts) {
  const build = path === null ? {} : { script: await readFile(path, "utf8") };
  const kept = { hasOutputs: true, hasIndex: false, parent: FASTEST_DIRECTORY };
  const options = { vars, ...kept, ...build };
  const relay = stack.use(await Workerd.start(options));
  bases.set(name, `${relay.url}/v1/submit/openai-videos`);
}

const cases = KINDS.flatMap((kind) =>
  [...bases].map(([name, base]) => ({ kind, name, base, rounds: Array<Waits[]>() })),
);
for (const { base, kind } of cases) for (let i = 0; i < WARM_UP; i += 1) await waitsOf(base, kind);
for (let round = 0; round < ROUNDS; round += 1) {
  for (const each of cases) each.rounds.push([]);
  for (let i = 0; i < CALLS_OF_ROUND; i += 1) {
    const inTurns = i % 2 === 0 ? cases : cases.toReversed();
    for (const { base, kind, rounds } of inTurns) rounds.at(-1)?.push(await waitsOf(base, kind));
  }
}
const rows = cases.map(({ kind, name, rounds }) => {
  const firsts = rounds.flat().map(({ first }) => first);
  const medians = rounds.map((waits) =>
    quantile(
      waits.map(({ first }) => first),
      0.5,
    ),
  );
  const lasts = rounds.flat().map(({ last }) => last);
  const figures = [quantile(firsts, 0.5), Math.min(...medians), Math.max(...medians)];
  const others = [quantile(firsts, 0.95), quantile(lasts, 0.5)];
  return [kind.title, name, ...[...figures, ...others].map((ms) => ms.toFixed(1))];
});
const head = [
  "answer",
  "relay",
  "first byte, ms",
  "least round",
  "largest round",
  "95 %",
  "last byte, ms",
];
console.log(table(head, rows));
agent.destroy();
