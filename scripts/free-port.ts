import { createServer } from "node:net";

/** Returns `preferred` when that port of this machine is free, otherwise any free port. */
export async function freePort(preferred: number): Promise<number> {
  for (const port of [preferred, 0]) {
    const found = await new Promise<number | null>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(null));
      server.listen(port, "127.0.0.1", () => {
        const address = server.address();
        server.close(() => resolve(typeof address === "object" ? (address?.port ?? null) : null));
      });
    });
    if (found !== null) return found;
  }
  throw new Error("no free port on 127.0.0.1");
}
