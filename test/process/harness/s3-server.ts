import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsClient } from "aws4fetch";
import type { BucketContent } from "./bucket.ts";
import { Child } from "./child.ts";
import { freePort } from "./loopback.ts";
import type { Vars } from "./workerd.ts";

/** Program of the store: it speaks the protocol of S3, and keeps files in a directory. `.ci/run` builds it with Go. */
export const S3_PROGRAM = "versitygw";
const BUCKET = "outputs-of-tests";
const REGION = "eu-test-1";
const KEY = "process-test-store-key";
const SECRET = "process-test-store-secret";

/** A real S3 server on loopback, with one bucket. Its files outlive its process. */
export class S3Server implements AsyncDisposable {
  readonly #home: string;
  readonly #port: number;
  readonly #client = new AwsClient({
    accessKeyId: KEY,
    secretAccessKey: SECRET,
    service: "s3",
    region: REGION,
    retries: 0,
  });
  #child: Child | null = null;

  private constructor(home: string, port: number) {
    this.#home = home;
    this.#port = port;
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server(
      await mkdtemp(join(tmpdir(), "task-relay-store-")),
      await freePort(),
    );
    try {
      for (const name of ["files", "metadata"]) await mkdir(join(server.#home, name));
      await server.restart();
      await server.#ask("PUT", `/${BUCKET}`);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Variables of a relay that keeps its outputs in this store. */
  get vars(): Vars {
    return {
      OUTPUTS_S3_URL: this.#origin,
      OUTPUTS_S3_REGION: REGION,
      OUTPUTS_S3_BUCKET: BUCKET,
      OUTPUTS_S3_KEY: KEY,
      OUTPUTS_S3_SECRET: SECRET,
    };
  }

  /** Starts the server again, on the same files and port. */
  async restart(): Promise<void> {
    await this.kill9();
    const metadata = ["--sidecar", join(this.#home, "metadata")];
    this.#child = new Child(
      S3_PROGRAM,
      [
        "--port",
        `127.0.0.1:${this.#port}`,
        "--region",
        REGION,
        "posix",
        ...metadata,
        join(this.#home, "files"),
      ],
      { ...process.env, ROOT_ACCESS_KEY: KEY, ROOT_SECRET_KEY: SECRET },
    );
    await this.#child.answering(this.#origin);
  }

  async kill9(): Promise<void> {
    await this.#child?.kill9();
    this.#child = null;
  }

  /** Stops or continues the process, which meanwhile takes connections and answers nothing. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.signal(signal);
  }

  /** Reads the keys of the bucket, and the number of parts of uploads that have not ended. */
  async content(): Promise<BucketContent> {
    const keys = namesIn(await this.#ask("GET", `/${BUCKET}?list-type=2`), "Key");
    const listed = await this.#ask("GET", `/${BUCKET}?uploads`);
    const uploads = namesIn(listed, "UploadId").map((id, index) => ({
      id,
      key: namesIn(listed, "Key")[index] ?? "",
    }));
    const parts = await Promise.all(
      uploads.map(({ id, key }) => this.#ask("GET", `/${BUCKET}/${key}?uploadId=${id}`)),
    );
    const count = parts.reduce((sum, text) => sum + namesIn(text, "PartNumber").length, 0);
    return { keys: keys.toSorted(), parts: count };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9();
    await rm(this.#home, { recursive: true, force: true });
  }

  get #origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Sends a request as the owner of the store. @returns the text of the answer. @throws when it is refused. */
  async #ask(method: string, path: string): Promise<string> {
    const answer = await this.#client.fetch(`${this.#origin}${path}`, { method });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the store answered ${answer.status} to ${path}: ${text}`);
    return text;
  }
}

function namesIn(xml: string, element: string): readonly string[] {
  const found = xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, "g"));
  return Array.from(found, ([, name = ""]) => name);
}
