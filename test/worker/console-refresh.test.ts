import { expect, it } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, submit, visit } from "./browser.ts";
import { call } from "./client.ts";
import { useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aCompletion, register, report } from "./tasks.ts";

useClock();
const waits = useHeldWaits();

/** Opens the page of a task, and returns what its next refresh says that the page shows. */
async function shownBy(cookie: string, id: string): Promise<string> {
  const page = await (await visit(`/tasks/${id}`, cookie)).text();
  return /data-version="([^"]+)"/.exec(page)?.[1] ?? "";
}

it.each([
  ["a time without news", async () => false],
  ["a change of the task", (id: string) => report(aCompletion(id)).then(() => true)],
])(
  "the refresh of a task's page that is answered after %s gets 401 if the viewer's key was revoked in the meantime",
  async (_, end) => {
    const account = await anAccount();
    const { id: keyId, key } = await aKey(account);
    const cookie = await logIn(key);
    const id = await register({ account, callback_url: undefined });
    const shown = await shownBy(cookie, id);
    waits.between = async (wait) => {
      if (wait > 1) return false;
      await call(`/v1/accounts/${account}/keys/${keyId}`, { method: "DELETE" });
      return end(id);
    };
    const refreshed = await visit(`/tasks/${id}`, cookie, { "X-Refresh": shown });
    expect(waits.pauses.length).toBeGreaterThan(0);
    expect(refreshed.status).toBe(401);
    expect(await refreshed.text()).toMatch(/^<!doctype html><p id="login-ended"/);
  },
);

it("the check of the login before a console form is sent gets 204 without a body during a session, and 401 with a message after its end", async () => {
  const cookie = await logIn();
  const refresh = { "X-Refresh": "none" };
  const during = await visit("/login/check", cookie, refresh);
  expect([during.status, during.body]).toEqual([204, null]);
  await submit("/logout", {}, cookie);
  const after = await visit("/login/check", cookie, refresh);
  expect(after.status).toBe(401);
  expect(await after.text()).toContain('id="login-ended"');
});
