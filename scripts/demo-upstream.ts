import { createServer, type IncomingMessage } from "node:http";

/**
 * Local upstream with the API of Volcengine Ark: it accepts a job, and posts a hook when the job has
 * finished.
 */
export interface DemoUpstream {
  readonly key: string;
  readonly baseUrl: string;
  readonly close: () => void;
}

const JOB_MS = 1_000;
const TASKS = "/api/v3/contents/generations/tasks";
const VIDEO = "https://ark-content.tos-cn-beijing.volces.com/demo.mp4";

export async function startDemoUpstream(): Promise<DemoUpstream> {
  const key = "demo-ark-key";
  const job = { id: "cgt-20261121120000-demo1", model: "doubao-seedance-2.0", status: "running" };
  const finished = () => ({
    ...job,
    status: "succeeded",
    updated_at: Math.floor(Date.now() / 1000),
    content: { video_url: VIDEO },
    seed: 41485,
    resolution: "720p",
    ratio: "16:9",
    duration: 5,
    framespersecond: 24,
    generate_audio: true,
  });
  let isFinished = false;
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`) return response.writeHead(401).end();
    if (request.method === "GET") {
      return response.end(JSON.stringify(isFinished ? finished() : job));
    }
    const { callback_url: hookUrl }: { callback_url: string } = JSON.parse(await text(request));
    setTimeout(async () => {
      isFinished = true;
      await fetch(hookUrl, { method: "POST", body: JSON.stringify(finished()) });
    }, JOB_MS);
    return response.end(JSON.stringify({ id: job.id }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  const baseUrl = `http://127.0.0.1:${address.port}/api/v3`;
  return { key, baseUrl, close: () => server.close() };
}

/**
 * Submits a job to the local upstream, as the operator's service would submit one to the provider.
 * @returns the id of the job.
 */
export async function submit(upstream: DemoUpstream, hookUrl: string): Promise<string> {
  const response = await fetch(`${new URL(upstream.baseUrl).origin}${TASKS}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${upstream.key}` },
    body: JSON.stringify({
      model: "doubao-seedance-2.0",
      content: [{ type: "text", text: "a cat" }],
      callback_url: hookUrl,
    }),
  });
  const { id }: { id: string } = JSON.parse(await response.text());
  return id;
}

async function text(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  return body;
}
