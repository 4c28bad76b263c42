import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What a server has done with a request whose client has stopped. */
export interface Ended {
  /** Status of the answer; null when there was none. */
  readonly status: number | null;
  /** Time in milliseconds from the last byte of the client until the server had closed the connection; null when it had not. */
  readonly afterMs: number | null;
}

/**
 * Sends the beginning of a request, and then nothing more.
 * @param text what is sent: head lines, and the beginning of a body.
 * @param withinMs time after which the client gives up.
 */
export async function stopAfter(url: string, text: string, withinMs: number): Promise<Ended> {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: "127.0.0.1" }).setEncoding("latin1");
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  let [answer, sentAt] = ["", Date.now()];
  socket.on("data", (part: string) => (answer += part));
  // A server may reset the connection whose request it has not read.
  socket.on("error", () => undefined);
  socket.once("close", () => resolve(Date.now() - sentAt));
  socket.write(text, () => (sentAt = Date.now()));
  const afterMs = await Promise.race([closed, sleep(withinMs, null, { ref: false })]);
  socket.destroy();
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? [];
  return { status: status === undefined ? null : Number(status), afterMs };
}

/** A body of which only the beginning is sent, by how its length is told. */
export const FRAMINGS = [
  { header: "Content-Length: 1000", start: '{"a"' },
  { header: "Transfer-Encoding: chunked", start: '4\r\n{"a"\r\n' },
] as const;

/** Returns the text of a request to a URL with the beginning of a body. */
export function headOf(
  method: string,
  url: string,
  headers: readonly string[],
  { header, start }: (typeof FRAMINGS)[number],
): string {
  const { host, pathname } = new URL(url);
  const lines = [`${method} ${pathname} HTTP/1.1`, `Host: ${host}`, ...headers, header];
  return `${lines.join("\r\n")}\r\n\r\n${start}`;
}
