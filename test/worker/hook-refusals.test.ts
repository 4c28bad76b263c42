import { describe, expect, it, vi } from "vitest";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { aScene, CASES, hookOf } from "./hook-cases.ts";
import { answerOf, hooked, sendHook } from "./hooked.ts";
import { bodyFor } from "./senders.ts";
import { refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { stored } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const UNAUTHENTICATED = { status: 401, code: "unauthenticated" };

describe.each(CASES)("$name", (it_) => {
  const { sender, bindings, isChecked } = it_;
  const { provider } = sender;
  const failure = hookOf(it_, "failed");
  const echoes = PROVIDERS.get(provider)?.hooks?.idParameter != null;

  it("takes what it does not understand, and changes nothing", async () => {
    const scene = await aScene(it_);
    await scene.attach();
    const before = await stored(scene.task.id);
    const unclear = sender.hooks.filter(({ means }) => means === null || means === "nothing");
    expect(unclear.length).toBeGreaterThanOrEqual(2);
    for (const hook of unclear) {
      const response = await scene.post(hook);
      // kie signs the id of the task: without one there is nothing that could be verified.
      const isUnsigned = provider === "kie" && isChecked && hook.jobId === null;
      if (isUnsigned) expect(await refusal(response)).toEqual(UNAUTHENTICATED);
      else expect(await answerOf(response)).toEqual([200, "ok"]);
    }
    expect(await stored(scene.task.id)).toEqual(before);
    expect(scene.polls()).toBe(0);
  });

  it("answers 413 to a body over the limit", async () => {
    const scene = await aScene(it_);
    const before = await stored(scene.task.id);
    const large = { ...failure, body: `${failure.body}${" ".repeat(256 * 1024)}` };
    expect(await refusal(await scene.post(large))).toEqual({
      status: 413,
      code: "payload_too_large",
    });
    expect(await stored(scene.task.id)).toEqual(before);
  });

  it("answers 404 to a hook with the token of another task", async () => {
    const scene = await aScene(it_);
    const other = await hooked({ provider, bindings });
    const before = await stored(scene.task.id);
    const token = other.hookUrl.split("/").at(-1) ?? "";
    const hookUrl = scene.task.hookUrl.replace(/[^/]+$/, token);
    const body = bodyFor(failure, scene.task);
    const headers = await sender.sign(body, { ...scene.task, hookUrl });
    const response = await sendHook({ hookUrl, bindings }, body, headers);
    expect(await refusal(response)).toEqual({ status: 404, code: "unknown_task" });
    expect(await stored(scene.task.id)).toEqual(before);
  });

  it.runIf(echoes)(
    "takes a hook that names another task of ours, and changes nothing",
    async () => {
      const scene = await aScene(it_);
      await scene.attach();
      const before = await stored(scene.task.id);
      const body = bodyFor(failure, scene.task).replaceAll(scene.task.id, crypto.randomUUID());
      const headers = await sender.sign(body, scene.task);
      expect(await answerOf(await sendHook(scene.task, body, headers))).toEqual([200, "ok"]);
      expect(await stored(scene.task.id)).toEqual(before);
      expect(scene.polls()).toBe(0);
    },
  );

  describe.runIf(isChecked)("signatures", () => {
    it("answers 401 to a forged failure, and changes nothing", async () => {
      const scene = await aScene(it_);
      await scene.attach();
      const before = await stored(scene.task.id);
      const body = bodyFor(failure, scene.task);
      const right = await sender.sign(body, scene.task);
      for (const headers of [
        {},
        ...withoutOne(right),
        spoiled(right),
        await old(body, scene.task),
      ]) {
        const response = await sendHook(scene.task, body, headers);
        expect(response.headers.get("WWW-Authenticate")).toMatch(/^Signature /);
        expect(await refusal(response)).toEqual(UNAUTHENTICATED);
      }
      expect(await stored(scene.task.id)).toEqual(before);
      expect(scene.polls()).toBe(0);
      expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
    });

    it("cover the body where the provider says so", async () => {
      const scene = await aScene(it_);
      const before = await stored(scene.task.id);
      const genuine = bodyFor(hookOf(it_, "completed"), scene.task);
      const headers = await sender.sign(genuine, scene.task);
      const forged = await sendHook(scene.task, bodyFor(failure, scene.task), headers);
      if (!sender.isBodySigned) return expect(forged.status).toBe(200);
      expect(await refusal(forged)).toEqual(UNAUTHENTICATED);
      expect(await stored(scene.task.id)).toEqual(before);
    });

    it("go before the body: what is unsigned is not read", async () => {
      const scene = await aScene(it_);
      expect(await refusal(await sendHook(scene.task, "{"))).toEqual(UNAUTHENTICATED);
    });
  });

  async function old(body: string, task: Parameters<typeof sender.sign>[1]) {
    const now = Date.now();
    vi.setSystemTime(now - 301_000);
    const headers = await sender.sign(body, task);
    vi.setSystemTime(now);
    return headers;
  }
});

type Headers = Readonly<Record<string, string>>;

/** The headers without each of those that the signature needs. */
function withoutOne(headers: Headers): readonly Headers[] {
  const names = Object.keys(headers).filter((name) => name !== "X-HMAC-ACCESS-KEY");
  return names.map((absent) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name !== absent)),
  );
}

/** With another character in the middle of the signature. */
function spoiled(headers: Headers): Headers {
  const [name = ""] = Object.keys(headers).filter((each) => /signature$/i.test(each));
  const signature = headers[name] ?? "";
  const at = signature.length - 20;
  const other = signature[at] === "1" ? "2" : "1";
  return { ...headers, [name]: `${signature.slice(0, at)}${other}${signature.slice(at + 1)}` };
}
