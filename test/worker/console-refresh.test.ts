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
  ["a time without a change", async () => false],
  ["a change of the task", (id: string) => report(aCompletion(id)).then(() => true)],
])(
  "when the viewer's key is revoked while an open page of a task waits for a change, the page's refresh, answered after %s, gets 401",
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

it("the request by which a console page checks the login before it sends a form gets 204 during a session, and 401 with a message after its end", async () => {
  const cookie = await logIn();
  const refresh = { "X-Refresh": "none" };
  const during = await visit("/login/check", cookie, refresh);
  expect([during.status, during.body]).toEqual([204, null]);
  await submit("/logout", {}, cookie);
  const after = await visit("/login/check", cookie, refresh);
  expect(after.status).toBe(401);
  expect(await after.text()).toContain('id="login-ended"');
});
