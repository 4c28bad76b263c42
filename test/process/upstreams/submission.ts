import type { Client } from "../harness/client.ts";
import { field, PARAMETERS, type UpstreamApi } from "./apis.ts";
import type { FakeUpstream } from "./fake-upstream.ts";

/** A task that was registered with a connection and submitted to its upstream. */
export interface Submitted {
  readonly id: string;
  readonly connection: string;
  readonly jobId: string;
  readonly api: UpstreamApi;
}

export interface SubmitOptions {
  readonly client: Client;
  readonly upstream: FakeUpstream;
  readonly api: UpstreamApi;
  readonly isKeyed: boolean;
  readonly callbackUrl: string;
  /** Further fields of the registration. */
  readonly fields?: object;
}

/** Registers a task, and submits its job; does not attach the job. */
export async function submitted(options: SubmitOptions): Promise<Submitted> {
  const { client, upstream, api, isKeyed, callbackUrl: callback_url, fields } = options;
  const connection = `${api.provider}-${isKeyed ? "keyed" : "plain"}`;
  const registration = { provider: connection, callback_url, parameters: PARAMETERS, ...fields };
  const { id, hook_url } = await client.register(registration);
  return { id, connection, jobId: upstream.submit(api, hook_url), api };
}

/** Attaches the upstream's job to the task. */
export async function attach(
  client: Client,
  { id, connection: provider, jobId, api }: Submitted,
): Promise<void> {
  const body = { provider, id: jobId, endpoint: api.endpoint ?? null };
  const { status, json } = await client.ask("POST", `/v1/tasks/${id}/upstream`, body);
  // A hook may have ended the task already.
  if (status !== 200 && field(json, "code") !== "task_settled") {
    throw new Error(`the attachment was answered with ${status} ${JSON.stringify(json)}`);
  }
}
