import { expect, it, vi } from "vitest";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { refusal, UNAUTHENTICATED } from "./client.ts";
import { aScene, type HookCase, hookOf } from "./hook-cases.ts";
import { answerOf, type Hooked, sendHook } from "./hooked.ts";
import { expectUnchanged, refusalsOf } from "./objects.ts";
import { bodyFor, type Sender } from "./senders.ts";
import { CALLBACK_URL } from "./tasks.ts";

type Headers = Readonly<Record<string, string>>;

/** Tests hooks that are too large or addressed to another task. */
export function testRefusedHooks(hookCase: HookCase): void {
  const { sender } = hookCase;
  const { provider } = sender;
  const failure = hookOf(hookCase, "failed");

  it(`${hookCase.name} with a body over the limit gets 413`, async () => {
    const scene = await aScene(hookCase);
    const large = { ...failure, body: `${failure.body}${" ".repeat(256 * 1024)}` };
    await expectUnchanged(scene.task.id, async () => {
      const tooLarge = { status: 413, code: "payload_too_large" };
      expect(await refusal(await scene.post(large))).toEqual(tooLarge);
    });
  });

  it.runIf(PROVIDERS.get(provider)?.hooks?.idParameter != null)(
    `${hookCase.name} with the id of another task in its body changes nothing, except that the reason of the refusal is stored`,
    async () => {
      const scene = await aScene(hookCase);
      await scene.attach();
      const body = bodyFor(failure, scene.task).replaceAll(scene.task.id, crypto.randomUUID());
      const headers = await sender.sign(body, scene.task);
      const reasons = await refusalsOf(scene.task.id, async () => {
        expect(await answerOf(await sendHook(scene.task, body, headers))).toEqual([200, "ok"]);
      });
      expect(reasons).toEqual(["other_task"]);
      expect(scene.polls()).toBe(0);
    },
  );
}

/** Tests hooks whose signature is missing, wrong, outdated or of another body. */
export function testSignatures(hookCase: HookCase): void {
  const { sender } = hookCase;
  const failure = hookOf(hookCase, "failed");

  it(`${hookCase.name} whose signature is missing, incomplete, wrong or too old gets 401, and is stored as refused at most three times`, async () => {
    const scene = await aScene(hookCase);
    await scene.attach();
    const body = bodyFor(failure, scene.task);
    const right = await sender.sign(body, scene.task);
    const old = await outdated(sender, body, scene.task);
    const reasons = await refusalsOf(scene.task.id, async () => {
      for (const headers of [{}, ...withoutOne(right), spoiled(right), old]) {
        const response = await sendHook(scene.task, body, headers);
        expect(response.headers.get("WWW-Authenticate")).toMatch(/^Signature /);
        expect(await refusal(response)).toEqual(UNAUTHENTICATED);
      }
    });
    expect(reasons).toEqual(Array(3).fill("bad_signature"));
    expect(scene.polls()).toBe(0);
    expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
  });

  const isOverBody = sender.isBodySigned || sender.hasPublishedKeys;
  it(`${hookCase.name} with the signature of another body gets ${isOverBody ? "401" : "200, because the provider does not sign bodies"}`, async () => {
    const scene = await aScene(hookCase);
    const genuine = bodyFor(hookOf(hookCase, "completed"), scene.task);
    const headers = await sender.sign(genuine, scene.task);
    const forge = () => sendHook(scene.task, bodyFor(failure, scene.task), headers);
    if (!isOverBody) return expect((await forge()).status).toBe(200);
    const reasons = await refusalsOf(scene.task.id, async () => {
      expect(await refusal(await forge())).toEqual(UNAUTHENTICATED);
    });
    expect(reasons).toEqual(["bad_signature"]);
  });

  it(`${hookCase.name} without a signature gets 401 before its body is parsed`, async () => {
    const scene = await aScene(hookCase);
    expect(await refusal(await sendHook(scene.task, "{"))).toEqual(UNAUTHENTICATED);
  });
}

/** Signs a body 301 s before the present time. */
async function outdated(sender: Sender, body: string, task: Hooked): Promise<Headers> {
  const now = Date.now();
  vi.setSystemTime(now - 301_000);
  const headers = await sender.sign(body, task);
  vi.setSystemTime(now);
  return headers;
}

/** Leaves out each of the headers that the signature needs, one at a time. */
function withoutOne(headers: Headers): readonly Headers[] {
  const names = Object.keys(headers).filter((name) => name !== "X-HMAC-ACCESS-KEY");
  return names.map((absent) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name !== absent)),
  );
}

/** Replaces one character in the middle of the signature. */
function spoiled(headers: Headers): Headers {
  const [name = ""] = Object.keys(headers).filter((each) => /signature(-ed25519)?$/i.test(each));
  const signature = headers[name] ?? "";
  const at = signature.length - 20;
  const other = signature[at] === "1" ? "2" : "1";
  return { ...headers, [name]: `${signature.slice(0, at)}${other}${signature.slice(at + 1)}` };
}
