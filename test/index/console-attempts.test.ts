import { expect, it, vi } from "vitest";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { logIn, visit } from "../worker/browser.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { aRow, indexedTask, insert, UNTRIED, useIndex } from "./support.ts";

useIndex();

async function pageOf(path: string, cookie: string): Promise<string> {
  const response = await visit(path, cookie);
  expect(response.status).toBe(200);
  return await response.text();
}

it("the console's page of attempts lists the attempts of the newest tasks, each with host, outcome and status, and shows the request of one beside the answer", async () => {
  aReceiver(status(500, "no place on the disk"));
  const id = await indexedTask();
  const cookie = await logIn();
  const page = await pageOf("/attempts", cookie);
  const row = new RegExp(`<tr id="attempt-${id}-1"[\\s\\S]*?</tr>`).exec(page)?.[0] ?? "";
  expect(page).toContain(">Answer</th>");
  expect(row).toMatch(/client\.example\.net[\s\S]*rejected[\s\S]*500[\s\S]*no place on the disk/);
  const [, path = ""] = /href="([^"]*#attempt)"/.exec(row) ?? [];
  const shown = await pageOf(path.replaceAll("&amp;", "&").replace("#attempt", ""), cookie);
  const panel = /<section class="panel" id="attempt">[\s\S]*?<\/section>/.exec(shown)?.[0] ?? "";
  expect(panel).toMatch(/Request, byte for byte[\s\S]*POST [\s\S]*webhook-signature/);
  expect(panel).toMatch(/HTTP 500[\s\S]*no place on the disk/);
});

it("the console's page of attempts asks no object of a task whose callback was not tried", async () => {
  await insert(aRow({ ...UNTRIED, settledAt: null, expiresAt: null }));
  const asked = vi.spyOn(TaskObject.prototype, "inspect");
  expect(await pageOf("/attempts", await logIn())).toContain("No attempt");
  expect(asked).not.toHaveBeenCalled();
});

it("the console's page of attempts shows an account the attempts of its own tasks without the receiver's answers, and no attempt of another account", async () => {
  aReceiver(status(500, "no place on the disk"));
  const [own, other] = [await anAccount(), await anAccount()];
  const mine = await indexedTask({ account: own });
  const foreign = await indexedTask({ account: other });
  const cookie = await logIn((await aKey(own)).key);
  const page = await pageOf(`/attempts?task=${foreign}&attempt=1`, cookie);
  expect(page).toContain(`attempt-${mine}-1`);
  expect(page).not.toContain(foreign.slice(0, 8));
  expect(page).not.toContain("no place on the disk");
  expect(page).not.toContain(">Answer</th>");
});

it("the console's page of attempts refuses a filter that is not valid and names it, and says that an attempt is not stored", async () => {
  const cookie = await logIn();
  const refused = await visit("/attempts?status_code=9", cookie);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toMatch(/status_code[^]*must be a status code from 100 to 599/);
  for (const task of ["x", crypto.randomUUID()]) {
    const page = await pageOf(`/attempts?task=${task}&attempt=-1`, cookie);
    expect(page).toContain("The attempt of this link is no longer stored.");
    expect(page).not.toContain('id="attempt"');
  }
});
