/** The parts of BullMQ that the benchmarks use, because type checks run without it being installed. */
declare module "bullmq" {
  interface Connection {
    readonly connection: { readonly host: string; readonly port: number };
  }

  interface JobOptions {
    readonly jobId: string;
    readonly attempts: number;
    readonly backoff: { readonly type: string; readonly delay: number };
  }

  export class Queue {
    constructor(name: string, options: Connection);
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: unknown, options: JobOptions): Promise<unknown>;
  }

  export class Worker {
    constructor(
      name: string,
      process: (job: { readonly data: unknown }) => Promise<unknown>,
      options: Connection & { readonly concurrency: number },
    );
    on(event: "error", listener: (error: Error) => void): this;
  }
}
