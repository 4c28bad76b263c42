import { describe, expect, it } from "vitest";
import { type CallAnswer, jobCallOf } from "../../src/providers/job-calls.ts";
import { ADAPTERS, declared } from "./adapters.ts";
import { anAnswer } from "./answer.ts";
import { EXAMPLES } from "./examples.ts";

/** The providers whose SDKs have a call that deletes a job, although no call stops one that runs. */
const DELETING = {
  luma: "DELETE /generations/luma-1",
  "openai-videos": "DELETE /v1/videos/video_1",
};
const CANCELING = EXAMPLES.flatMap(({ provider, cancels }) =>
  cancels === undefined ? [] : [{ provider, ...cancels }],
);

it("clients can cancel or delete a job through the relay at exactly those providers that document a call for this", () => {
  const described = [...ADAPTERS].filter(([, { jobCalls }]) => jobCalls?.cancel !== undefined);
  const documented = [...CANCELING.map(({ provider }) => provider), ...Object.keys(DELETING)];
  expect(described.map(([name]) => name).toSorted()).toEqual(documented.toSorted());
});

describe.each(CANCELING)("a client's call that cancels a job of $provider", (example) => {
  const { provider, request, job } = example;
  const { jobCalls, cancels } = adapterOf(provider);
  const call = jobCallOf(jobCalls, request.method, request.path, "");

  it(`when a client makes the call that ${provider} documents for canceling a job, the relay recognizes it and finds the job's id in it`, () => {
    expect(call).toMatchObject({ kind: "cancel", jobId: job.id });
  });

  it(`a client's call cancels no job of ${provider} when its method is another than documented, or its path has a segment more or less`, () => {
    const methods = (["POST", "PUT", "DELETE"] as const).filter((each) => each !== request.method);
    for (const method of methods) {
      expect(jobCallOf(jobCalls, method, request.path, "")).toBeNull();
    }
    for (const path of [`${request.path}/x`, request.path.replace(`/${job.id}`, "")]) {
      expect(jobCallOf(jobCalls, request.method, path, "")).toBeNull();
    }
  });

  it(`the relay's answers to a client that cancels a job of ${provider} are such that the relay, if ${provider} sent them, would read them as accepted, ended or refused`, () => {
    if (call?.kind !== "cancel" || "read" in call.answer) return;
    const { done, ended, refused } = call.answer;
    expect(["canceled", "accepted"]).toContain(meaningOf(done(job.id)));
    if (ended !== undefined) expect(meaningOf(ended)).toBe("ended");
    const error = {
      status: refused,
      body: jobCalls.errorBody(refused, "task state is scheduled, can not cancel"),
    };
    const isByStatus = provider === "runway" || provider === "wavespeed";
    if (!isByStatus && ended === undefined) expect(meaningOf(error)).toBe("refused");
  });

  function meaningOf({ status, body }: CallAnswer) {
    return cancels?.read(anAnswer({ status, body: body ?? undefined }));
  }
});

it.each(Object.entries(DELETING))(
  "the relay recognizes that a client deletes a job of %s by the call %s",
  (name, line) => {
    const [method, path = ""] = line.split(" ");
    const { jobCalls } = adapterOf(name);
    expect(method).toBe("DELETE");
    expect(jobCallOf(jobCalls, "DELETE", path, "")).toMatchObject({ kind: "cancel" });
  },
);

it.each([
  ["replicate", "/v1/predictions/p1", "POST /v1/predictions/p1/cancel"],
  ["gemini", "/v1beta/interactions/i1", "POST /v1beta/interactions/i1/cancel"],
  ["gemini", "/v1beta/interactions/i1", "POST /v1/interactions/i1/cancel"],
])(
  "a client that cancels a job of %s is answered with the job, which the relay reads at %s after the call %s",
  (name, read, line) => {
    const [, path = ""] = line.split(" ");
    const call = jobCallOf(adapterOf(name).jobCalls, "POST", path, "");
    expect(call).toMatchObject({ kind: "cancel", answer: { read } });
  },
);

it.each([
  ["openai-videos", "/v1/videos/video_1/content", "", 1, "/v1/videos/video_1/content"],
  ["openai-videos", "/v1/videos/video_1/content", "index=3", 1, "/v1/videos/video_1/content"],
  ["newapi", "/v1/videos/task_1/content", "", 1, "/v1/videos/task_1/content"],
  ["openrouter", "/api/v1/videos/v1/content", "", 1, "/api/v1/videos/v1/content"],
  ["openrouter", "/api/v1/videos/v1/content", "index=1", 2, "/api/v1/videos/v1/content?index=1"],
] as const)(
  "for %s, the call GET %s?%s asks for the output number %i, which the upstream has at %s",
  (name, path, query, number, target) => {
    const call = jobCallOf(adapterOf(name).jobCalls, "GET", path, query);
    expect(call).toMatchObject({ kind: "content", number, target });
  },
);

it.each(["-1", "1.5", "100", "a", ""])(
  "a call for the content of a video of openrouter asks for no output when its index is %j",
  (index) => {
    const { jobCalls } = adapterOf("openrouter");
    expect(jobCallOf(jobCalls, "GET", "/api/v1/videos/v1/content", `index=${index}`)).toBeNull();
  },
);

/** Sources: the pages and SDKs that the adapters name at `uploads`. */
const UPLOADS = {
  atlascloud: ["/api/v1/model/uploadMedia"],
  fal: [
    "/storage/upload/initiate?storage_type=fal-cdn-v3",
    "/storage/upload/initiate-multipart?storage_type=fal-cdn-v3",
  ],
  higgsfield: ["/files/generate-upload-url"],
  newapi: ["/v1/files"],
  "openai-videos": ["/v1/files"],
  replicate: ["/v1/files"],
  runway: ["/v1/uploads"],
  wavespeed: ["/api/v3/upload", "/api/v3/media/upload/binary"],
};

it("a client's call counts as an upload only if it is a POST to exactly a path that the provider's documents or SDK have for uploads", () => {
  const found = [...ADAPTERS].flatMap(([name, { jobCalls }]) =>
    jobCalls?.uploads === undefined ? [] : [[name, jobCalls.uploads]],
  );
  expect(Object.fromEntries(found)).toEqual(UPLOADS);
  for (const [name, paths] of Object.entries(UPLOADS)) {
    const { jobCalls } = adapterOf(name);
    for (const target of paths) {
      const [path = ""] = target.split("?");
      const upload = { kind: "upload", target, isForUpload: true };
      expect(jobCallOf(jobCalls, "POST", path, "a=1")).toEqual(upload);
      for (const other of [`${path}/f1`, `${path}/`, `/x${path}`, path.toUpperCase()]) {
        expect(jobCallOf(jobCalls, "POST", other, "")).toBeNull();
      }
      expect(jobCallOf(jobCalls, "PUT", path, "")).toBeNull();
      expect(jobCallOf(jobCalls, "DELETE", `${path}/f1`, "")).toBeNull();
    }
  }
});

it("a client's call counts as a lookup only if it is a GET that an SDK of Replicate or Model Studio makes beside its jobs; all its parts reach the target, and no others", () => {
  const described = [...ADAPTERS].filter(([, { jobCalls }]) => jobCalls?.lookups !== undefined);
  expect(described.map(([name]) => name).toSorted()).toEqual(["dashscope", "replicate"]);
  const version = "/v1/models/acme/fox-2.1/versions/5c7d5dc6";
  const lookup = { kind: "lookup", target: version, isForUpload: false };
  expect(jobCallOf(adapterOf("replicate").jobCalls, "GET", version, "a=1")).toEqual(lookup);
  const [path, query] = ["/api/v1/uploads", "action=getPolicy&model=wan2.6-i2v"];
  const permission = { kind: "lookup", target: `${path}?${query}`, isForUpload: true };
  const { jobCalls } = adapterOf("dashscope");
  expect(jobCallOf(jobCalls, "GET", path, `${query}&a=1`)).toEqual(permission);
  expect(jobCallOf(jobCalls, "GET", path, "action=getPolicy")).toBeNull();
  expect(jobCallOf(jobCalls, "POST", path, query)).toBeNull();
});

describe("an upstream with a declaration", () => {
  const declaration = {
    provider: "generic",
    base_url: "https://upstream.example.org",
    submit: { path: "/run", id: "/id" },
    poll: { path: "/status/{id}", state: "/status", outputs: ["/url"] },
    auth: "Authorization: Bearer {key}",
  };
  const cancel = (call: object, poll: object = {}) =>
    jobCallOf(
      declared("own", {
        ...declaration,
        poll: { ...declaration.poll, ...poll },
        cancel: call,
      }).jobCalls ?? { read: [], errorBody: () => ({}) },
      "POST",
      "/cancel/j1",
      "",
    );

  it("a client cancels a job at the path that the upstream's declaration states, and is answered with the upstream's answer to a poll of the job", () => {
    const answer = { read: "/status/j1" };
    expect(cancel({ path: "/cancel/{id}" })).toMatchObject({ kind: "cancel", jobId: "j1", answer });
  });

  it("a client cannot cancel a job when the upstream's declaration puts the job's id into the body of the canceling call, or polls jobs by POST", () => {
    expect(cancel({ path: "/cancel", body: { id: "{id}" } })).toBeNull();
    const poll = { path: "/status", method: "POST", body: { id: "{id}" } };
    expect(cancel({ path: "/cancel/{id}" }, poll)).toBeNull();
  });
});

function adapterOf(name: string) {
  const adapter = ADAPTERS.get(name);
  if (adapter?.jobCalls === undefined) throw new Error(`${name} describes no calls about jobs`);
  const { jobCalls, cancels } = adapter;
  return { jobCalls, cancels };
}
