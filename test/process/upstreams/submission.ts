import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Client } from "../harness/client.ts";
import type { FakeUpstream } from "./fake-upstream.ts";
import { field, PARAMETERS, type UpstreamApi } from "./api.ts";

/** A task that was registered with a connection and submitted to its upstream. */
export interface Submitted {
  readonly id: string;
  readonly connection: string;
  readonly jobId: string;
  readonly api: UpstreamApi;
  readonly isKeyed: boolean;
}

export interface SubmitOptions {
  readonly client: Client;
  readonly upstream: FakeUpstream;
  readonly api: UpstreamApi;
  readonly isKeyed: boolean;
  readonly callbackUrl: string;
  /** Further fields of the registration. */
  readonly fields?: object;
  readonly id?: string;
}

const Registered = z.object({
  hook_url: z.string(),
  hook_parameter: z.string(),
  id_parameter: z.string().optional(),
});

/** Registers a task, and submits its job with the fields of the answer; does not attach the job. */
export async function submitted(options: SubmitOptions): Promise<Submitted> {
  const { client, upstream, api, isKeyed, callbackUrl, fields, id = randomUUID() } = options;
  const connection = `${api.provider}-${isKeyed ? "keyed" : "plain"}`;
  const registration = {
    id,
    model: "m",
    callback_url: callbackUrl,
    provider: connection,
    parameters: PARAMETERS,
    ...fields,
  };
  const { status, json } = await client.ask("POST", "/v1/tasks", registration);
  if (status !== 201) throw new Error(`the registration was answered with ${status}`);
  const jobId = await submit(upstream, api, isKeyed, id, Registered.parse(json));
  return { id, connection, jobId, api, isKeyed };
}

/** Attaches the upstream's job to the task. */
export async function attach(client: Client, task: Submitted): Promise<unknown> {
  const { id, connection: provider, jobId, api, isKeyed } = task;
  const body = { provider, id: jobId, endpoint: api.attachEndpoint(isKeyed) };
  const { status, json } = await client.ask("POST", `/v1/tasks/${id}/upstream`, body);
  // A hook may have ended the task already.
  if (status !== 200 && field(json, "code") !== "task_settled") {
    throw new Error(`the attachment was answered with ${status} ${JSON.stringify(json)}`);
  }
  return json;
}

/** Makes the submit call, with the hook URL and the task id in the fields that the relay names. */
async function submit(
  upstream: FakeUpstream,
  api: UpstreamApi,
  isKeyed: boolean,
  taskId: string,
  { hook_url, hook_parameter, id_parameter }: z.infer<typeof Registered>,
): Promise<string> {
  const url = new URL(`${upstream.origin}${api.base}${api.submitPath(isKeyed)}`);
  const isQuery = hook_parameter.startsWith("?");
  if (isQuery) url.searchParams.set(hook_parameter.slice(1), hook_url);
  const body = {
    ...api.submitBody,
    ...(!isQuery && { [hook_parameter]: hook_url }),
    ...(id_parameter !== undefined && { [id_parameter]: taskId }),
  };
  const headers = { Authorization: api.submitAuthorization(), "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer: unknown = await response.json();
  const jobId = [["id"], ["request_id"], ["task_id"], ["data", "task_id"]]
    .map((path) => field(answer, ...path))
    .find((found) => typeof found === "string");
  if (typeof jobId !== "string")
    throw new Error(`the submit call gave no job id: ${JSON.stringify(answer)}`);
  return jobId;
}
