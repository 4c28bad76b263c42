import { crc32, deflateSync } from "node:zlib";
import type { Page } from "playwright-core";

const FILMED_MS = 700;
/** Samples of a sound in a second. */
const RATE = 8_000;

/** Returns a picture in one colour (PNG, https://www.w3.org/TR/png-3/). @param rgb its red, green and blue. */
export function picture(width: number, height: number, rgb: readonly number[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.from([0, ...Array.from({ length: width }, () => rgb).flat()]);
  const rows = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(content.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(content, 4);
  whole.writeUInt32BE(crc32(content), content.length + 4);
  return whole;
}

/** Returns a tone of a second (WAV, PCM with 8 bits). */
export function tone(): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + RATE, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(RATE, 40);
  const samples = Array.from({ length: RATE }, (_, at) => 128 + 60 * Math.sin(at / 3));
  return Buffer.concat([header, Buffer.from(samples)]);
}

/** Films a canvas in the browser. @returns the bytes of a WebM video. */
export async function filmed(page: Page): Promise<Uint8Array> {
  const base64 = await page.evaluate(async (ms) => {
    const canvas = document.createElement("canvas");
    const drawing = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" });
    const parts: Blob[] = [];
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    const ended = new Promise((resolve) => recorder.addEventListener("stop", resolve));
    recorder.start();
    const timer = setInterval(() => drawing?.fillRect(Math.random() * 200, 0, 40, 40), 20);
    await new Promise((resolve) => setTimeout(resolve, ms));
    clearInterval(timer);
    recorder.stop();
    await ended;
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }, FILMED_MS);
  return Buffer.from(base64, "base64");
}
