import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { ROOT } from "../process/harness/child.ts";

const Step = z.strictObject({
  uses: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const Job = z.looseObject({
  needs: z.string().optional(),
  uses: z.string().optional(),
  environment: z.string().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  steps: z.array(Step).default([]),
});
const Workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.unknown().optional(),
  jobs: z.record(z.string(), Job),
});

/** Form of an issue (https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema). */
const Field = z.strictObject({
  type: z.enum(["textarea", "input", "dropdown"]),
  id: z.string().regex(/^[\w-]+$/),
  attributes: z.strictObject({
    label: z.string(),
    description: z.string().optional(),
    placeholder: z.string().optional(),
    render: z.string().optional(),
    options: z.array(z.string()).min(1).optional(),
  }),
  validations: z.strictObject({ required: z.boolean() }).optional(),
});
const Text = z.strictObject({
  type: z.literal("markdown"),
  attributes: z.strictObject({ value: z.string() }),
});
const Form = z.strictObject({
  name: z.string(),
  description: z.string(),
  labels: z.array(z.string()),
  body: z.array(z.union([Text, Field])),
});

const read = (path: string): unknown => parse(readFileSync(join(ROOT, ".github", path), "utf8"));
const filesIn = (folder: string) => globSync(`${folder}/*`, { cwd: join(ROOT, ".github") });
const workflow = (name: string) => Workflow.parse(read(`workflows/${name}.yml`));
const [ci, release] = [workflow("ci"), workflow("release")];

it("the workflow ci.yml runs .ci/run and no other command, for each push to main, each pull request and each release", () => {
  expect(ci.on).toEqual({
    push: { branches: ["main"] },
    pull_request: null,
    workflow_call: null,
  });
  const steps = Object.values(ci.jobs).flatMap((job) => job.steps);
  expect(steps.flatMap(({ run = [] }) => run)).toEqual([".ci/run"]);
});

it("for a tag v*, the workflow release.yml publishes the packed client to npm with provenance, after CI and npm run release:check, in the environment npm", () => {
  expect(release.on).toEqual({ push: { tags: ["v*"] } });
  expect(release.jobs["ci"]).toMatchObject({ uses: "./.github/workflows/ci.yml" });
  const publish = release.jobs["publish"];
  expect(publish).toMatchObject({ needs: "ci", environment: "npm" });
  expect(publish?.steps.flatMap(({ run = [] }) => run)).toEqual([
    "npm ci --ignore-scripts",
    'node scripts/release-check.ts "$GITHUB_REF_NAME"',
    'npm pack --workspace client --pack-destination "$RUNNER_TEMP"',
    'npm publish "$RUNNER_TEMP"/task-relay-client-*.tgz --provenance --access public',
  ]);
});

it("the GitHub workflows may only read the repository; only the job that publishes the client gets an identity token, and only its last step the token for npm", () => {
  const workflows = filesIn("workflows").map((file) => Workflow.parse(read(file)));
  expect(workflows).toHaveLength(2);
  expect(workflows.map(({ permissions }) => permissions)).toEqual([
    { contents: "read" },
    { contents: "read" },
  ]);
  const jobs = workflows.flatMap((each) => Object.entries(each.jobs));
  const permitted = jobs.filter(([, { permissions }]) => permissions !== undefined);
  expect(permitted.map(([name, { permissions }]) => [name, permissions])).toEqual([
    ["publish", { contents: "read", "id-token": "write" }],
  ]);
  const withSecret = jobs.flatMap(([, job]) => job.steps).filter(({ env }) => env !== undefined);
  expect(withSecret.map(({ run, env }) => [run?.split(" ")[1], env])).toEqual([
    ["publish", { NODE_AUTH_TOKEN: "${{ secrets.NPM_TOKEN }}" }],
  ]);
});

it("the GitHub workflows name each action that they use by the hash of a commit, so that nobody can change what runs", () => {
  const workflows = filesIn("workflows").map((file) => Workflow.parse(read(file)));
  const steps = workflows.flatMap(({ jobs }) => Object.values(jobs).flatMap((job) => job.steps));
  const used = steps.flatMap(({ uses = [] }) => uses);
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((each) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(each))).toEqual([]);
});

it.each(filesIn("ISSUE_TEMPLATE"))(
  "the issue form %s is valid for GitHub, requires the output of npm run doctor, and says that this output contains no secret",
  (file) => {
    const { body } = Form.parse(read(file));
    const fields = body.filter((each) => each.type !== "markdown");
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
    const doctor = fields.find(({ id }) => id === "doctor");
    expect(doctor).toMatchObject({ type: "textarea", validations: { required: true } });
    const { description } = doctor?.attributes ?? {};
    expect(description).toMatch(/^`npm run doctor -- --url [^`]+`/);
    expect(description).toContain("It prints no secret.");
  },
);
