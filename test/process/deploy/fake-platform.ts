import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import * as z from "zod";
import { LoopbackServer } from "../harness/loopback.ts";

const ACCOUNT = { id: "acc", name: "Test" };

/** A request that creates or changes something. */
export interface Change {
  readonly request: string;
  readonly body: unknown;
}

/** A refusal: the beginning of the requests that get it, and what they get. */
export interface Refused {
  readonly request: string;
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

interface Worker {
  /** Tag of the last migration of its objects. */
  readonly migrationTag: string | undefined;
  tags: readonly string[];
  readonly secrets: Set<string>;
  subdomain: { readonly enabled: boolean; readonly previews_enabled: boolean };
}

type Reply = { readonly result: unknown } | Omit<Refused, "request">;

/** Answers that do not depend on what was created. */
const FIXED: Readonly<Record<string, unknown>> = {
  "GET /user": { id: "user", email: "operator@example.com" },
  "GET /user/tokens/verify": { id: "token", status: "active" },
  "GET /accounts": [ACCOUNT],
  "GET /memberships": [{ account: ACCOUNT }],
  "GET workers/subdomain": { subdomain: "example" },
};

const Metadata = z.looseObject({
  bindings: z.array(z.looseObject({ name: z.string(), type: z.string() })),
  migrations: z.looseObject({ new_tag: z.string() }).optional(),
  package_dependencies: z.unknown().optional(),
});
const Named = z.object({ name: z.string() });
const Rules = z.object({ rules: z.array(z.looseObject({ id: z.string() })) });
const Subdomain = z.object({ enabled: z.boolean(), previews_enabled: z.boolean() });
const Tags = z.object({ tags: z.array(z.string()) });
/** Answer to a list of files of which none has to be uploaded. */
const ALL_FILES_KNOWN = { jwt: "files", buckets: [] };
const NO_DOMAINS = { added: [], removed: [], updated: [], conflicting: [] };
const NO_WORKER = {
  status: 404,
  code: 10007,
  message: "This Worker does not exist on your account.",
};
const NO_DATABASE = { status: 404, code: 7404, message: "The database could not be found" };
const NO_BUCKET = { status: 404, code: 10006, message: "The specified bucket does not exist." };
/** The rule that each new bucket has. */
const DEFAULT_RULE = {
  id: "Default Multipart Abort Rule",
  enabled: true,
  conditions: {},
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 604_800 } },
};
const UNAUTHENTICATED = { status: 401, code: 10000, message: "Authentication error" };

/**
 * A stand-in for the part of Cloudflare's API that a deployment uses. It keeps what was created, and records
 * each change.
 */
export class FakePlatform extends LoopbackServer {
  readonly #changes: Change[] = [];
  /** Number of all requests. */
  requests = 0;
  /** Request that the platform refuses, with its answer; null refuses none. */
  refused: Refused | null = null;
  /** Is called with the method and path of each request before it is answered. */
  onRequest: (line: string) => void = () => {};
  readonly #databases = new Map<string, { readonly uuid: string; readonly name: string }>();
  /** Lifecycle rules by the names of the buckets. */
  readonly #buckets = new Map<string, readonly object[]>();
  readonly #workers = new Map<string, Worker>();

  constructor() {
    super((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  /** Returns the changes since the last call. */
  takeChanges(): readonly Change[] {
    return this.#changes.splice(0);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const { method = "GET", url = "/", headers } = request;
    const path = (url.split("?")[0] ?? "").replace(`/accounts/${ACCOUNT.id}/`, "");
    const body = await bodyOf(headers["content-type"] ?? "", await buffer(request));
    const line = `${method} ${path}`;
    this.onRequest(line);
    const reply = this.#refusalOf(line, headers.authorization) ?? this.#reply(line, path, body);
    const isDone = "result" in reply;
    const isChange = method !== "GET" && !path.endsWith("/assets-upload-session");
    if (isDone && isChange) this.#changes.push({ request: line, body });
    const errors = isDone ? [] : [{ code: reply.code, message: reply.message }];
    const result = isDone ? reply.result : null;
    response.writeHead(isDone ? 200 : reply.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ success: isDone, errors, messages: [], result }));
  }

  #refusalOf(line: string, authorization: string | undefined): Reply | null {
    if (authorization !== "Bearer token") return UNAUTHENTICATED;
    return this.refused !== null && line.startsWith(this.refused.request) ? this.refused : null;
  }

  #reply(line: string, path: string, body: unknown): Reply {
    const fixed = FIXED[line];
    if (fixed !== undefined) return { result: fixed };
    if (path.startsWith("d1/database")) return this.#database(line, body);
    if (path.startsWith("r2/buckets")) return this.#bucket(line, body);
    const [, , name = "", part = "", more = ""] = path.split("/");
    if (part === "assets-upload-session") return { result: ALL_FILES_KNOWN };
    if (part === "domains") return { result: more === "changeset" ? NO_DOMAINS : null };
    return this.#worker(line.startsWith("GET") ? "" : line, name, part, body);
  }

  #database(line: string, body: unknown): Reply {
    if (line === "GET d1/database") return { result: [...this.#databases.values()] };
    if (line === "POST d1/database") {
      const { name } = Named.parse(body);
      const database = { uuid: randomUUID(), name };
      this.#databases.set(name, database);
      return { result: database };
    }
    const found = this.#databases.get(line.split("/").at(-1) ?? "");
    return found === undefined ? NO_DATABASE : { result: found };
  }

  #bucket(line: string, body: unknown): Reply {
    if (line === "POST r2/buckets") {
      const { name } = Named.parse(body);
      this.#buckets.set(name, [DEFAULT_RULE]);
      return { result: { name } };
    }
    const [, , name = "", part = ""] = line.split("/");
    const rules = this.#buckets.get(name);
    if (rules === undefined) return NO_BUCKET;
    if (part === "") return { result: { name } };
    if (line.startsWith("PUT")) this.#buckets.set(name, Rules.parse(body).rules);
    return { result: { rules } };
  }

  /** @param change a request that changes the Worker; empty for one that reads it. */
  #worker(change: string, name: string, part: string, body: unknown): Reply {
    if (change !== "" && (part === "" || part === "versions")) return this.#upload(name, body);
    const worker = this.#workers.get(name);
    if (worker === undefined) return NO_WORKER;
    if (change !== "" && part === "subdomain") worker.subdomain = Subdomain.parse(body);
    if (change !== "" && part === "script-settings") worker.tags = Tags.parse(body).tags;
    const secrets = [...worker.secrets].map((secret) => ({ name: secret, type: "secret_text" }));
    const results: Readonly<Record<string, unknown>> = {
      secrets,
      settings: { bindings: secrets },
      deployments: { deployments: [], items: [] },
      subdomain: worker.subdomain,
    };
    const { tags, migrationTag: migration_tag } = worker;
    const script = { id: name, tag: "tag", tags, migration_tag, last_deployed_from: "wrangler" };
    const service = { id: name, name, default_environment: { environment: "production", script } };
    return { result: results[part] ?? { ...service, subdomain: worker.subdomain } };
  }

  #upload(name: string, body: unknown): Reply {
    const { bindings, migrations } = Metadata.parse(body);
    const sent = bindings.filter(({ type }) => type === "secret_text");
    const known = this.#workers.get(name);
    const subdomain = known?.subdomain ?? { enabled: false, previews_enabled: false };
    const secrets = new Set([...(known?.secrets ?? []), ...sent.map((secret) => secret.name)]);
    const migrationTag = migrations?.new_tag ?? known?.migrationTag;
    this.#workers.set(name, { migrationTag, secrets, subdomain, tags: known?.tags ?? [] });
    const id = randomUUID();
    const resources = { script: { etag: "etag" } };
    return { result: { id, deployment_id: id.replaceAll("-", ""), resources, startup_time_ms: 5 } };
  }
}

/** Reads a body; of an uploaded script only its metadata, without the list of installed packages. */
async function bodyOf(contentType: string, bytes: Buffer): Promise<unknown> {
  if (bytes.length === 0) return null;
  if (!contentType.startsWith("multipart/form-data")) return JSON.parse(bytes.toString());
  const headers = { "Content-Type": contentType };
  const form = await new Response(new Uint8Array(bytes), { headers }).formData();
  const metadata = form.get("metadata");
  if (metadata === null) throw new Error("an upload without metadata");
  const text = typeof metadata === "string" ? metadata : await metadata.text();
  const { package_dependencies: _, ...kept } = Metadata.parse(JSON.parse(text));
  return kept;
}
