import { randomBytes } from "node:crypto";

const BOUNDARY = "process-test-boundary";

/** Returns a form of exactly so many bytes, with these texts and a file. */
export function formOf(texts: Readonly<Record<string, string>>, bytes: number) {
  const parts = Object.entries(texts).map(
    ([name, text]) => `${disposition(name)}\r\n\r\n${text}\r\n`,
  );
  const file = `${disposition("image")}; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`;
  const start = Buffer.from(parts.join("") + file);
  const end = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  const content = randomBytes(bytes - start.length - end.length);
  return {
    body: new Uint8Array(Buffer.concat([start, content, end])),
    type: `multipart/form-data; boundary=${BOUNDARY}`,
  };
}

function disposition(name: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`;
}
