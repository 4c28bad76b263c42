import { describe, expect, it } from "vitest";
import type { Job } from "../../src/core/record/upstream.ts";
import { type JobCallAdapter, jobCallOf } from "../../src/providers/job-calls.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { ADAPTERS, declared } from "./adapters.ts";
import { OWN_DECLARATIONS } from "./declarations.ts";

/** The calls of one provider that read jobs, by their documentation. */
interface Documented {
  readonly provider: string;
  readonly jobs: readonly {
    readonly job: Job;
    /** Path and query of each documented call that reads the job. */
    readonly read: readonly string[];
  }[];
  /** Paths that are documented for something else than one job, or are not documented. */
  readonly other: readonly string[];
}

const UUID = "0385dc79-5ff8-4d82-bcb6-1a2b3c4d5e6f";
const HEX = "e989621f54392584b05867f87b160672";
const NUMBER = "854332142312214528";

function idOnly(id: string, ...read: readonly string[]): Documented["jobs"][number] {
  return { job: { id, endpoint: null }, read };
}

const KLING_KINDS = [
  "videos/text2video",
  "videos/image2video",
  "videos/avatar/image2video",
  "images/generations",
  "images/editing/expand",
  "audio/text-to-audio",
];
const KIE_APIS = {
  suno: "generate/record-info",
  veo: "veo/record-info",
  runway: "runway/record-detail",
  aleph: "aleph/record-info",
  "4o-image": "gpt4o-image/record-info",
  "flux-kontext": "flux/kontext/record-info",
};
const ARK_TASKS = "/contents/generations/tasks";
const INTERACTION = "v1_ChdXS0l4YWZXTk9xbk0xZThQczhEcmlROBIX";
const PREDICTION = "ufawqhfynnddngldkgtslldrkq";

/** Jobs that a call for images has started at gateways: APIMart and EvoLink, and ToAPIs. */
const IMAGE_JOBS = ["tasks", "images/generations"].map((endpoint) => ({
  job: { id: "task_01KA040M0H", endpoint },
  read: [`/v1/${endpoint}/task_01KA040M0H`],
}));

/** Sources: the pages and the code that the adapters name at `jobCalls`. */
const DOCUMENTED: readonly Documented[] = [
  {
    provider: "ark",
    jobs: [idOnly("cgt-20260720165804-z5qjx", `${ARK_TASKS}/cgt-20260720165804-z5qjx`)],
    other: [ARK_TASKS, "/files/file-1", "/models"],
  },
  {
    provider: "replicate",
    jobs: [idOnly(PREDICTION, `/v1/predictions/${PREDICTION}`)],
    other: [
      "/v1/predictions",
      `/v1/predictions/${PREDICTION}/stream`,
      "/v1/files/f1",
      "/v1/trainings/t1",
    ],
  },
  {
    provider: "fal",
    jobs: [
      {
        job: { id: UUID, endpoint: "fal-ai/kling-video/v2/master/text-to-video" },
        read: [
          `/fal-ai/kling-video/requests/${UUID}/status?logs=1`,
          `/fal-ai/kling-video/requests/${UUID}/status`,
          `/fal-ai/kling-video/requests/${UUID}`,
        ],
      },
      {
        job: { id: UUID, endpoint: "workflows/acme/fox" },
        read: [`/workflows/acme/fox/requests/${UUID}/status`],
      },
    ],
    other: [
      "/fal-ai/kling-video",
      "/fal-ai/kling-video/requests",
      `/requests/${UUID}`,
      "/storage/upload/initiate",
    ],
  },
  {
    provider: "kling",
    jobs: [
      idOnly(NUMBER, `/tasks?task_ids=${NUMBER}`),
      ...KLING_KINDS.map((endpoint) => ({
        job: { id: NUMBER, endpoint },
        read: [`/v1/${endpoint}/${NUMBER}`],
      })),
    ],
    other: ["/tasks", "/tasks?external_task_ids=1", "/account/costs", "/v1/videos"],
  },
  {
    provider: "minimax",
    jobs: [
      idOnly("362090061725888", "/v1/query/video_generation?task_id=362090061725888"),
      {
        job: { id: "424010985738629", endpoint: "v2" },
        read: ["/v2/query/video_generation/424010985738629"],
      },
    ],
    other: [
      "/v2/query/video_generation?page_num=1",
      "/v1/query/video_generation",
      "/v1/files/retrieve?file_id=1",
      "/v1/files/list",
    ],
  },
  {
    provider: "vidu",
    jobs: [idOnly(NUMBER, `/tasks/${NUMBER}/creations`)],
    other: ["/tasks", `/tasks/${NUMBER}`, "/credits"],
  },
  {
    provider: "luma",
    jobs: [idOnly(UUID, `/generations/${UUID}`)],
    other: ["/generations", "/generations/concepts/list", "/credits", `/generations/${UUID}/audio`],
  },
  {
    provider: "runway",
    jobs: [idOnly(UUID, `/v1/tasks/${UUID}`)],
    other: ["/v1/tasks", "/v1/organization", `/v1/workflow_invocations/${UUID}`],
  },
  {
    provider: "kie",
    jobs: [
      idOnly(HEX, `/api/v1/jobs/recordInfo?taskId=${HEX}`),
      ...Object.entries(KIE_APIS).map(([endpoint, path]) => ({
        job: { id: HEX, endpoint },
        read: [`/api/v1/${path}?taskId=${HEX}`],
      })),
    ],
    other: [
      "/api/v1/jobs/recordInfo",
      "/api/v1/chat/credit",
      `/api/v1/lyrics/record-info?taskId=${HEX}`,
    ],
  },
  {
    provider: "wavespeed",
    jobs: [idOnly(HEX, `/api/v3/predictions/${HEX}/result`, `/api/v3/predictions/${HEX}`)],
    other: ["/api/v3/predictions", "/api/v3/balance", `/api/v2/predictions/${HEX}/result`],
  },
  {
    provider: "openrouter",
    jobs: [idOnly("gen-vid-1767225600-abc", "/api/v1/videos/gen-vid-1767225600-abc")],
    other: ["/api/v1/videos", "/api/v1/generation?id=gen-1", "/api/v1/credits"],
  },
  {
    provider: "dashscope",
    jobs: [idOnly(UUID, `/api/v1/tasks/${UUID}`)],
    other: ["/api/v1/tasks/", "/api/v1/tasks", "/api/v1/files/f1"],
  },
  {
    provider: "xai",
    jobs: [idOnly(UUID, `/v1/videos/${UUID}`)],
    other: ["/v1/videos", "/v1/models", "/v1/chat/deferred-completion/c1"],
  },
  {
    provider: "atlascloud",
    jobs: [idOnly(HEX, `/api/v1/model/prediction/${HEX}`)],
    other: ["/api/v1/models", "/api/v1/model/prediction", "/api/v1/webhooks/jwks.json"],
  },
  {
    provider: "bfl",
    jobs: [idOnly(UUID, `/v1/get_result?id=${UUID}`)],
    other: [
      "/v1/get_result",
      "/v1/credits",
      "/v1/my_finetunes",
      `/v1/finetune_details?finetune_id=${UUID}`,
    ],
  },
  {
    provider: "higgsfield",
    jobs: [idOnly(UUID, `/requests/${UUID}/status`)],
    other: ["/requests", `/requests/${UUID}`, "/v1/job-sets/j1", "/models"],
  },
  {
    provider: "gemini",
    jobs: [
      idOnly(
        INTERACTION,
        `/v1beta/interactions/${INTERACTION}`,
        `/v1/interactions/${INTERACTION}`,
        `/v1beta/interactions/${INTERACTION}?include_input=true`,
      ),
    ],
    other: ["/v1beta/interactions", "/v1beta/files/f1", "/v1beta/operations/o1", "/v1beta/models"],
  },
  {
    provider: "newapi",
    jobs: [
      idOnly(
        "task_abcd1234efgh",
        "/v1/video/generations/task_abcd1234efgh",
        "/v1/videos/task_abcd1234efgh",
        "/kling/v1/videos/text2video/task_abcd1234efgh",
        "/kling/v1/videos/image2video/task_abcd1234efgh",
      ),
      ...IMAGE_JOBS,
    ],
    other: [
      "/v1/videos",
      "/v1/videos/task_1/remix",
      "/suno/fetch/task_1",
      "/v1/models/veo",
      "/api/task/self",
    ],
  },
  {
    provider: "openai-videos",
    // The ids of litellm end in the padding of base64.
    jobs: [idOnly("video_bGl0ZWxsbTp2ZW8=", "/v1/videos/video_bGl0ZWxsbTp2ZW8="), ...IMAGE_JOBS],
    other: ["/v1/videos", "/v1/videos/characters/c1", "/v1/files/f1", "/v1/models"],
  },
  {
    provider: "runpod",
    jobs: [idOnly(`${UUID}-u1`, `/status/${UUID}-u1`)],
    other: ["/health", "/status"],
  },
  { provider: "runware", jobs: [], other: ["/v1"] },
  { provider: "runninghub", jobs: [], other: ["/openapi/v2/query", "/uc/openapi/accountStatus"] },
  {
    provider: "together",
    jobs: [idOnly(UUID, `/v2/videos/${UUID}`)],
    other: ["/v2/videos", "/v1/models"],
  },
  {
    provider: "sync-so",
    jobs: [idOnly(UUID, `/v2/generate/${UUID}`)],
    other: ["/v2/generations", "/v2/models"],
  },
  {
    provider: "comfyui",
    jobs: [idOnly(UUID, `/history/${UUID}`)],
    other: ["/history", "/queue", "/view?filename=a"],
  },
  { provider: "openai", jobs: [], other: ["/v1/responses/resp_1", "/v1/models", "/"] },
  { provider: "modal", jobs: [idOnly("fc-01ABC", "/result/fc-01ABC")], other: ["/", "/submit"] },
];

const OWN = Object.entries(OWN_DECLARATIONS).map(
  ([name, declaration]) => [name, declared(name, declaration)] as const,
);
const SUBMITTING: ReadonlyMap<string, UpstreamProvider> = new Map(
  [...ADAPTERS, ...OWN].filter(([, { submits }]) => submits !== undefined),
);

it("exactly the providers to which jobs can be submitted have examples of the documented calls that read a job", () => {
  expect(DOCUMENTED.map(({ provider }) => provider).toSorted()).toEqual(
    [...SUBMITTING.keys()].toSorted(),
  );
});

describe.each(DOCUMENTED)("a GET that reads a job of $provider", ({ provider, jobs, other }) => {
  const { jobCalls, polls } = adapterOf(provider);

  it.each(jobs.flatMap(({ job, read }) => read.map((target) => [target, job] as const)))(
    `from a documented GET that reads a job of ${provider}, the relay takes the job's id, its endpoint if the path has one, and the path to request: %s`,
    (target, { id, endpoint }) => {
      const call = callAt(jobCalls, target);
      expect(call).toMatchObject({ kind: "read", jobId: id });
      if (call?.endpoint != null) expect(`${endpoint}/`.startsWith(`${call.endpoint}/`)).toBe(true);
      expect(decodeURIComponent(call?.target ?? "")).toBe(target);
    },
  );

  it.each(jobs)(
    `one of the documented GETs that read a job of ${provider} is the call with which the relay itself polls the job: $job`,
    ({ job, read }) => {
      const targets = read.map((target) => callAt(jobCalls, target)?.target);
      expect(targets).toContain(polls.path(job));
    },
  );

  it.each(other)(
    `a GET to ${provider} at a path that is not that of a job does not count as the reading of a job: %s`,
    (target) => {
      expect(callAt(jobCalls, target)).toBeNull();
    },
  );

  it.each(
    jobs.flatMap(({ job, read }) =>
      read.flatMap((target) => damaged(target, job.id).map((each) => [each, job] as const)),
    ),
  )(
    `a GET to ${provider} at a damaged path does not read the job to which the intact path leads: %j`,
    (target, { id, endpoint }) => {
      const call = callAt(jobCalls, target);
      const isOfJob =
        call?.jobId === id && `${endpoint}/`.startsWith(`${call.endpoint ?? endpoint}/`);
      expect(isOfJob).toBe(false);
    },
  );

  it(`the relay's own error about a job of ${provider} contains the text of the error, as the errors of ${provider} do`, () => {
    for (const status of [404, 429, 504]) {
      expect(JSON.stringify(jobCalls.errorBody(status, "There is no such job."))).toContain(
        "There is no such job.",
      );
    }
  });
});

it.each(["runware", "runninghub"])(
  "no GET counts as the reading of a job of %s, because its clients, like the relay, ask for a job by POST",
  (provider) => {
    const { jobCalls, polls } = adapterOf(provider);
    expect(jobCalls.read).toEqual([]);
    expect(polls.body).toBeDefined();
  },
);

/** Errors as upstreams have sent them, from the corpora; what differs in each answer is left out. */
const SENT_ERRORS: readonly (readonly [
  provider: string,
  status: number,
  text: string,
  body: object,
])[] = [
  ["ark", 404, "The specified resource is not found", { error: { code: "ResourceNotFound" } }],
  ["vidu", 404, "task not found", { code: 404, reason: "TaskNotFound", message: "task not found" }],
  ["luma", 404, "Generation not found", { detail: "Generation not found" }],
  [
    "openrouter",
    404,
    "Resource not found",
    { error: { code: 404, message: "Resource not found" } },
  ],
  [
    "gemini",
    404,
    "Interaction not found.",
    { error: { code: "not_found", message: "Interaction not found." } },
  ],
  ["kie", 401, "Bad API key", { code: 401, msg: "Bad API key", data: null }],
  ["kling", 504, "Server internal timeout", { code: 5002, message: "Server internal timeout" }],
  [
    "newapi",
    404,
    "task_not_exist",
    { code: "task_not_exist", data: null, message: "task_not_exist" },
  ],
  ["openai-videos", 404, "video not found", { error: { message: "video not found", param: null } }],
  ["replicate", 401, "not valid", { detail: "not valid", status: 401 }],
  ["fal", 500, "Request is still in progress", { detail: "Request is still in progress" }],
  ["bfl", 422, "Invalid API key format", { detail: "Invalid API key format" }],
  ["runway", 400, "not valid", { error: "not valid" }],
  [
    "minimax",
    404,
    "invalid task_id",
    { type: "error", error: { type: "bad_request_error", message: "invalid task_id" } },
  ],
];

it.each(SENT_ERRORS)(
  "the relay's own error about a job of %s with the HTTP status %i has the form of the upstream's errors: %j",
  (provider, status, text, body) => {
    expect(adapterOf(provider).jobCalls.errorBody(status, text)).toMatchObject(body);
  },
);

describe("a template of a path", () => {
  it.each([
    ["/jobs/{id}.json", "/jobs/a-1.json", "a-1", "/jobs/a-1.json"],
    ["/jobs/{id}/of/{id}", "/jobs/a=/of/a=", "a=", "/jobs/a%3D/of/a%3D"],
    ["/ask?full=1&job={id}", "/ask?job=a%2Fb&x=1", "a/b", "/ask?full=1&job=a%2Fb"],
    ["/ask?full=1&job={id}", "/ask?full=1&job=a", "a", "/ask?full=1&job=a"],
    ["/{endpoint}/jobs/{id}", "/acme/fox/jobs/a", "a", "/acme/fox/jobs/a"],
  ] as const)(
    "the path template %s fits the call GET %s, finds in it the job %s, and gives the path %s for the upstream",
    (path, target, jobId, sent) => {
      const adapter = { read: [path], errorBody: () => ({}) };
      expect(callAt(adapter, target)).toMatchObject({ jobId, target: sent });
    },
  );

  it.each([
    ["/jobs/{id}.json", "/jobs/.json"],
    ["/jobs/{id}.json", "/jobs/a.xml"],
    ["/jobs/{id}/of/{id}", "/jobs/a/of/b"],
    ["/ask?full=1&job={id}", "/ask?full=0&job=a"],
    ["/ask?job={id}", "/ask?job="],
    ["/ask?job={id}", "/ask?job=.."],
    ["/{endpoint}/jobs/{id}", "/jobs/a"],
    ["/{endpoint}/jobs/{id}", "/acme/../jobs/a"],
    ["/{endpoint}/jobs/{id}", "/acme//jobs/a"],
    ["/jobs/{id}", `/jobs/${"a".repeat(513)}`],
  ] as const)("the path template %s does not fit the call GET %s", (path, target) => {
    expect(callAt({ read: [path], errorBody: () => ({}) }, target)).toBeNull();
  });
});

function callAt(adapter: JobCallAdapter, target: string) {
  const [path = "", query = ""] = target.split("?");
  const call = jobCallOf(adapter, "GET", path, query);
  return call?.kind === "read" || call?.kind === "stream" ? call : null;
}

/** Returns targets that differ from that of a call so that they lead elsewhere. */
function damaged(target: string, id: string): readonly string[] {
  const [path = "", query = ""] = target.split("?");
  const of = query === "" ? "" : `?${query}`;
  return [
    `/x${path}${of}`,
    `${path}/x${of}`,
    `${path}/${of}`,
    target.replace(id, ".."),
    target.replace(id, ""),
  ];
}

function adapterOf(name: string) {
  const adapter = SUBMITTING.get(name);
  if (adapter?.jobCalls === undefined) throw new Error(`${name} describes no calls about jobs`);
  const { jobCalls, polls } = adapter;
  return { jobCalls, polls };
}
