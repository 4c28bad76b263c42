import { expect, it } from "vitest";
import * as z from "zod";
import { callWith } from "../worker/client.ts";
import { pass } from "../worker/clock.ts";
import { wake } from "../worker/objects.ts";
import { env } from "../../src/startup.ts";
import { restartWith, useBindings } from "./bindings.ts";
import { db, useIndex } from "./support.ts";

useIndex();
useBindings();

const SECOND = 1_000;
/** Time between the registrations of two tasks, and the time that the job of each takes, in milliseconds. */
const GAP_MS = 10 * SECOND;
const JOB_MS = 110 * SECOND;
const Page = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

it.each([
  [8, "the default of 30", {}],
  [0, "300", { INDEX_DELAY_S: "300" }],
])(
  "of 11 open tasks that were registered one after the other in the last 110 seconds, GET /v1/tasks lists the %i that are as old as INDEX_DELAY_S: %s",
  async (listed, _, variables) => {
    const bindings = { ...env, INDEX_DB: db, ...variables };
    const ids: string[] = [];
    for (let age = JOB_MS; age > 0; age -= GAP_MS) {
      pass(GAP_MS);
      const id = crypto.randomUUID();
      ids.push(id);
      await restartWith(id, { INDEX_DB: db, ...variables });
      const body = { id, model: "m", callback_url: "https://client.example.net/" };
      expect((await callWith(bindings, "/v1/tasks", { body })).status).toBe(201);
    }
    pass(GAP_MS / 2);
    for (const id of ids) await wake(id);
    const page = await callWith(bindings, "/v1/tasks?status=pending");
    const found = Page.parse(await page.json()).data.map(({ id }) => id);
    expect(found).toEqual(ids.slice(0, listed).toReversed());
  },
);
