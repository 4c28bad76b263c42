import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { logIn, submit } from "./browser.ts";
import { useClock } from "./clock.ts";
import { untilIdle } from "./objects.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { CALLBACK_URL, completed } from "./tasks.ts";

useClock();

it.each([
  ["/accounts/{account}/grant", { amount: "0", reference: "r<1" }, ['value="r&lt;1"', "must be"]],
  [
    "/accounts/{account}/keys",
    { sha256: "12", label: "l<1", role: "read" },
    ['value="l&lt;1"', "must be"],
  ],
  ["/accounts", { id: "a b" }, ['value="a b"', "must "]],
  ["/test", { callback_url: "nowhere", status: "failed" }, ['value="nowhere"', "must be a valid"]],
] as const)(
  "a refused form of %s with the fields %j is shown again with what was typed, the fault beside the field and status 400",
  async (path, fields, texts) => {
    const account = await anAccount();
    const response = await submit(path.replace("{account}", account), fields, await logIn());
    expect(response.status).toBe(400);
    const page = await response.text();
    const [, described = "none"] =
      /aria-describedby="([^" ]+)[^"]*" aria-invalid="true"/.exec(page) ?? [];
    expect(page).toContain(`id="${described}" class="field-error"`);
    for (const text of texts) expect(page).toContain(text);
  },
);

it("when a redelivery ordered in the console is refused, the page of the task is shown with the dialog open and the fault beside the URL", async () => {
  aReceiver(status(200));
  const id = await completed({ callback_url: CALLBACK_URL });
  await untilIdle(id);
  const fields = { attempts: "2", callback_url: "ftp://a.example/<" };
  const response = await submit(`/tasks/${id}/redeliver`, fields, await logIn());
  expect(response.status).toBe(400);
  const page = await response.text();
  expect(page).toMatch(/<dialog id="send-again"[^>]* open/);
  expect(page).toContain('value="ftp://a.example/&lt;"');
  expect(page).toMatch(/id="callback_url-issue" class="field-error">must use https:/);
});

it("the console says whether headers and body of a received callback, pasted into it, have a valid signature, and that headers without the header of the task id name no task", async () => {
  const received = aReceiver(status(200));
  const cookie = await logIn();
  const test = { callback_url: CALLBACK_URL, status: "failed", account: await anAccount() };
  const sent = await (await submit("/test", test, cookie)).text();
  const { headers, body } = requestAt(received, 0);
  const hidden = Object.fromEntries(
    Array.from(sent.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g), ([, name, value]) => [
      name ?? "",
      value ?? "",
    ]),
  );
  const pasted = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  const judge = async (fields: Readonly<Record<string, string>>) =>
    (await submit("/test/verify", fields, cookie)).text();
  expect(await judge({ ...hidden, headers: pasted, body })).toContain("The signature is valid");
  expect(await judge({ ...hidden, headers: pasted, body: ` ${body}` })).toContain("body_trimmed");
  const nameless = await judge({ headers: "webhook-signature: v1,<", body });
  expect(nameless).toContain("The headers name no task.");
  expect(nameless).toContain("v1,&lt;</textarea>");
});
