import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { Client } from "../harness/client.ts";
import { field, PARAMETERS, type UpstreamApi } from "./api.ts";
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

const Registered = z.object({
  hook_url: z.string(),
  hook_parameter: z.string(),
  id_parameter: z.string().optional(),
});

/**
 * Registers a task, and submits its job; does not attach the job.
 * @throws unless the relay names the documented fields of the submit call.
 */
export async function submitted(options: SubmitOptions): Promise<Submitted> {
  const { client, upstream, api, isKeyed, callbackUrl, fields } = options;
  const [id, connection] = [randomUUID(), `${api.provider}-${isKeyed ? "keyed" : "plain"}`];
  const { status, json } = await client.ask("POST", "/v1/tasks", {
    id,
    model: "m",
    callback_url: callbackUrl,
    provider: connection,
    parameters: PARAMETERS,
    ...fields,
  });
  if (status !== 201) throw new Error(`the registration was answered with ${status}`);
  const { hook_url, ...parameters } = Registered.parse(json);
  const { hookParameter: hook_parameter, idParameter: id_parameter } = api;
  const documented = { hook_parameter, ...(id_parameter !== undefined && { id_parameter }) };
  if (!isDeepStrictEqual(parameters, documented)) {
    throw new Error(`${api.provider} has no fields ${JSON.stringify(parameters)}`);
  }
  return { id, connection, jobId: await upstream.submit(api, isKeyed, id, hook_url), api };
}

/** Attaches the upstream's job to the task. */
export async function attach(
  client: Client,
  upstream: FakeUpstream,
  { id, connection: provider, jobId }: Submitted,
): Promise<void> {
  const body = { provider, id: jobId, endpoint: upstream.job(jobId).endpoint };
  const { status, json } = await client.ask("POST", `/v1/tasks/${id}/upstream`, body);
  // A hook may have ended the task already.
  if (status !== 200 && field(json, "code") !== "task_settled") {
    throw new Error(`the attachment was answered with ${status} ${JSON.stringify(json)}`);
  }
}
