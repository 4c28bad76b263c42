// A server like ComfyUI, as somebody may have it on a machine of one's own: it knows nothing of the relay. It prints its
// port, runs one workflow at a time and stores the images in memory.
import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";

const RUNS_MS = 2_000;
const history: Record<string, unknown> = {};
const images = new Map<string, Buffer>();
let queue = Promise.resolve();

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

async function run(id: string, text: string): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, RUNS_MS));
  const isBroken = text.includes("broken");
  const filename = `ComfyUI ${images.size + 1}.png`;
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from(id)]);
  if (!isBroken) images.set(filename, png);
  const outputs = isBroken ? {} : { 9: { images: [{ filename, subfolder: "", type: "output" }] } };
  const status = { status_str: isBroken ? "error" : "success", completed: !isBroken };
  history[id] = { outputs, status };
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method === "POST" && pathname === "/prompt") {
    const text = Buffer.concat(chunks).toString();
    const id = randomUUID();
    queue = queue.then(() => run(id, text));
    return answer(response, 200, { prompt_id: id, number: 1, node_errors: {} });
  }
  const id = /^\/history\/([^/]+)$/.exec(pathname)?.[1];
  if (id !== undefined) return answer(response, 200, id in history ? { [id]: history[id] } : {});
  const image = pathname === "/view" ? images.get(searchParams.get("filename") ?? "") : undefined;
  if (image === undefined) return answer(response, 404, { error: "not found" });
  response.writeHead(200, { "Content-Type": "image/png" }).end(image);
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify(server.address())));
