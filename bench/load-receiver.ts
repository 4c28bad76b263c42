import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// Process with the callback receivers of `bench/load.ts` and `bench/outage`. The kind in the path
// `/{kind}/{task id}` determines the answer. A request without `X-Attempt` counts as the first attempt.

const REPORT_EVERY_MS = 100;
const KEEP_ALIVE_MS = 600_000;

let arrivals: [taskId: string, attempt: number, at: number][] = [];

const server = createServer((request, response) => {
  const [, kind = "", taskId = ""] = (request.url ?? "").split("/");
  arrivals.push([taskId, Number(request.headers["x-attempt"] ?? 1), Date.now()]);
  request.resume();
  // The relay aborts the requests that hang when its timeout passes.
  response.on("error", () => {});
  if (kind !== "hangs") response.writeHead(kind === "fails" ? 500 : 200).end();
});
server.keepAliveTimeout = KEEP_ALIVE_MS;
server.requestTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const { port }: Partial<AddressInfo> = Object(server.address());
  process.send?.({ port, arrivals: [] });
});

setInterval(() => {
  if (arrivals.length === 0) return;
  process.send?.({ arrivals });
  arrivals = [];
}, REPORT_EVERY_MS);

process.on("disconnect", () => process.exit());
