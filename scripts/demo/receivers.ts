import { createServer, type ServerResponse } from "node:http";

/** Ways in which the demo's receivers of callbacks answer, like those of real clients. */
type Behaviour = keyof typeof ANSWERS;

/** A receiver of callbacks on a host of its own. */
export interface DemoReceiver {
  readonly url: string;
  /** URL that repairs the receiver when it is opened. */
  readonly repairUrl: string;
  readonly close: () => void;
}

/** Receivers of the demo, by their behaviour. */
export type Receivers = Readonly<Record<Behaviour, DemoReceiver>>;

type Answer = (response: ServerResponse, attempt: string) => void;

const UNAVAILABLE = "upstream connect error or disconnect/reset before headers";
const REFUSED = '{"error":"No matching signature found"}';
const NEW_ADDRESS = "https://client.example.com/callbacks";

const ANSWERS = {
  healthy: (response) => response.writeHead(204).end(),
  flaky: (response, attempt) => response.writeHead(attempt === "1" ? 502 : 204).end(),
  down: (response) => response.writeHead(503).end(UNAVAILABLE),
  refusing: (response) => response.writeHead(401).end(REFUSED),
  moved: (response) => response.writeHead(308, { Location: NEW_ADDRESS }).end(),
  hanging: () => {},
  hangingAtFirst: (response, attempt) => {
    if (attempt !== "1") response.writeHead(204).end();
  },
} as const satisfies Readonly<Record<string, Answer>>;

/** Starts a receiver of each behaviour. */
export async function startReceivers(): Promise<Receivers> {
  return {
    healthy: await startReceiver("healthy"),
    flaky: await startReceiver("flaky"),
    down: await startReceiver("down"),
    refusing: await startReceiver("refusing"),
    moved: await startReceiver("moved"),
    hanging: await startReceiver("hanging"),
    hangingAtFirst: await startReceiver("hangingAtFirst"),
  };
}

export async function startReceiver(behaviour: Behaviour): Promise<DemoReceiver> {
  let answer: Answer = ANSWERS[behaviour];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/repair") {
      answer = ANSWERS.healthy;
      response.end("This receiver takes callbacks now.\n");
    } else answer(response, String(request.headers["x-attempt"]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  const origin = `http://127.0.0.1:${address.port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `${origin}/callbacks`, repairUrl: `${origin}/repair`, close };
}
