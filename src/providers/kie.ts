import { isRecent } from "../security/signature.ts";
import { at, idAt, jsonAt, listAt, numberAt, textAt, urlsOf } from "./json-fields.ts";
import type { Observation } from "./observation.ts";
import {
  type Answer,
  type Authenticity,
  bearer,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  type Reading,
  readingOf,
} from "./provider.ts";
import { bytesOf } from "../security/encoding.ts";
import { macFromBase64, verifyWithText } from "../security/hmac.ts";
import { submittedMetadata } from "./echoed-input.ts";

/**
 * Adapter for kie.ai. Hooks have the format of the query API
 * (https://docs.kie.ai/market/common/get-task-detail). Their signature covers the job id, not the body
 * (https://docs.kie.ai/common-api/webhook-verification).
 */
export const kie: UpstreamProvider = {
  name: "kie",
  variables: { key: "KIE_API_KEY", baseUrl: "KIE_BASE_URL", webhookSecret: "KIE_WEBHOOK_KEY" },
  baseUrls: ["https://api.kie.ai"],
  hooks: {
    assurance: "request-signed",
    parameter: "callBackUrl",
    idParameter: null,
    authenticate,
    read: observe,
  },
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/api/v1/jobs/recordInfo?taskId=${encodeURIComponent(id)}`,
    read: readAnswer,
    echoesInput: true,
    namesTask: true,
  },
};

async function authenticate(
  { headers, body }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  const timestamp = headers.get("X-Webhook-Timestamp");
  const jobId = jobIdOf(jsonAt(new TextDecoder().decode(body)));
  if (jobId === null || !isRecent(timestamp, now)) return "refused";
  const signature = macFromBase64(headers.get("X-Webhook-Signature"));
  const content = bytesOf(`${jobId}.${timestamp}`);
  return (await verifyWithText(webhookSecret, [signature], content)) ? "unsigned" : "refused";
}

/** Reads the answer by its member `code`, because the HTTP status is 200 for errors too. */
function readAnswer({ body }: Answer): Reading {
  const code = numberAt(body, "code");
  if (code === 401) return { kind: "unauthorized" };
  if (code === 429) return { kind: "limited" };
  return readingOf(observe(body));
}

function observe(body: unknown): Observation | null {
  const jobId = jobIdOf(body);
  if (jobId === null) return null;
  const job = at(body, "data");
  const completedAt = numberAt(job, "completeTime");
  return {
    jobId,
    hookUrl: textAt(jsonAt(job, "param"), "callBackUrl"),
    state: textAt(job, "state"),
    urls: urlsOf(listAt(jsonAt(job, "resultJson"), "resultUrls")),
    metadata: submittedMetadata(at(jsonAt(job, "param"), "input")),
    completedAt: completedAt === 0 ? null : completedAt,
    error: { code: idAt(job, "failCode"), text: textAt(job, "failMsg") },
  };
}

/** Reads the job id, which older models call `task_id`. */
function jobIdOf(body: unknown): string | null {
  return idAt(body, "data", "taskId") ?? idAt(body, "data", "task_id");
}
