import { createServer, type IncomingMessage } from "node:http";

/**
 * Local upstream with the API of Volcengine Ark: it accepts a job, and posts a hook when the job has
 * finished.
 */
export interface DemoUpstream {
  readonly key: string;
  readonly baseUrl: string;
  /** Returns the hook URL of the job that was submitted; null before. */
  readonly hookUrl: () => string | null;
  readonly close: () => void;
}

const JOB_MS = 1_000;
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
  let hookUrl: string | null = null;
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`) return response.writeHead(401).end();
    if (request.method === "GET") {
      return response.end(JSON.stringify(isFinished ? finished() : job));
    }
    const { callback_url: url }: { callback_url: string } = JSON.parse(await text(request));
    hookUrl = url;
    setTimeout(async () => {
      isFinished = true;
      await fetch(url, { method: "POST", body: JSON.stringify(finished()) });
    }, JOB_MS);
    return response.end(JSON.stringify({ id: job.id }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  const baseUrl = `http://127.0.0.1:${address.port}/api/v3`;
  return { key, baseUrl, hookUrl: () => hookUrl, close: () => server.close() };
}

async function text(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  return body;
}
