import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { logIn, visit } from "../worker/browser.ts";
import { call } from "../worker/client.ts";
import { DAY_MS, pass, useClock } from "../worker/clock.ts";
import { answering } from "../worker/outside.ts";
import {
  anUpstream,
  bytesOf,
  completedWith,
  copy,
  pathOfLink,
  readCopied,
  sending,
  SOURCE,
  VIDEO_BYTES,
} from "./copied.ts";

useClock();

const CDN = "https://cdn.example.net";
const OUTPUTS_URL = "https://outputs.example.net";
const RELAY = "https://relay.example.com";

/** Completes a task with these outputs. Returns its id and the links of the result. */
async function aTask(...urls: readonly string[]) {
  const id = await completedWith(urls);
  const { output } = await readCopied(id);
  return { id, links: output.urls };
}

/** Returns the items of the list of links on the page of a task, and the policy of the page. */
async function linksOn(id: string, bindings: object = env) {
  const response = await visit(`/tasks/${id}`, await logIn(), {}, bindings);
  const [, list = ""] = /<ul class="links">(.*?)<\/ul>/s.exec(await response.text()) ?? [];
  const policy = response.headers.get("Content-Security-Policy")?.split("; ");
  return { items: list.split("</li>").slice(0, -1), policy };
}

function previewIn(item = ""): readonly string[] {
  return item.match(/<(?:video|audio|img) class="output" src="[^"]*"/g) ?? [];
}

/** Returns the small print of an item, i.e. what it says about the copy. */
function notesIn(item = ""): readonly string[] {
  const notes = item.matchAll(/<p class="small muted">(.*?)<\/p>/gs);
  return Array.from(notes, ([, note = ""]) => note.replaceAll(/<[^>]*>|&#39;/g, ""));
}

it("the console's page of a task shows a copied video, and for an output without a copy the reason and the upstream's own link", async () => {
  const { on } = anUpstream(sending(VIDEO_BYTES));
  on(`${CDN}/page.html`, sending(bytesOf("<!doctype html><script></script>")));
  on(`${CDN}/large.mp4`, sending(VIDEO_BYTES, { "Content-Length": "20971521" }));
  on(`${CDN}/inward.mp4`, answering(null, 302, { Location: "https://127.0.0.1/" }));
  on(`${CDN}/absent.mp4`, answering(null, 404));
  const { id, links } = await aTask(
    SOURCE,
    `${CDN}/page.html`,
    "http://cdn.example.net/plain.mp4",
    `${CDN}/large.mp4`,
    `${CDN}/inward.mp4`,
    `${CDN}/deleted.mp4`,
    `${CDN}/absent.mp4`,
  );
  await call(`/v1/tasks/${id}/outputs/6`, { method: "DELETE" });
  const before = await linksOn(id);
  expect(before.items.flatMap(previewIn)).toEqual([]);
  expect(notesIn(before.items[0])[0]).toBe("is being copied");

  await copy(id);
  const { items } = await linksOn(id);
  expect(items.map(previewIn)).toEqual([
    [`<video class="output" src="${links[0]}"`],
    ...Array.from({ length: 6 }, () => []),
  ]);
  expect(items.map((item) => notesIn(item)[0])).toEqual([
    expect.stringMatching(/^video\/mp4, 1\.0 kB, kept until /),
    expect.stringMatching(/^application\/octet-stream, 32 bytes, kept until /),
    "is not kept: this is the upstreams own link",
    "is not kept: it is too large",
    "is not kept: its link leads to where the relay must not fetch",
    "was deleted",
    "is being copied",
  ]);
  expect(items[3]).toContain(`href="${CDN}/large.mp4"`);

  pass(DAY_MS);
  await copy(id);
  const later = await linksOn(id);
  expect(notesIn(later.items[6])[0]).toBe("is not kept: the upstream refused to send it");
  pass(6 * DAY_MS);
  const expired = await linksOn(id);
  expect(expired.items.flatMap(previewIn)).toEqual([]);
  expect(notesIn(expired.items[0])[0]).toBe("has expired");
});

it("the console's page of a task shows an output at the present OUTPUTS_URL even if its link was made with an earlier one", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const { id, links } = await aTask(SOURCE);
  const [link = ""] = links;
  expect(link.startsWith(`${RELAY}/`)).toBe(true);
  await copy(id);
  const { items, policy } = await linksOn(id, { ...env, OUTPUTS_URL });
  expect(policy).toContain(`img-src 'self' data: ${OUTPUTS_URL}`);
  expect(policy).toContain(`media-src 'self' ${OUTPUTS_URL}`);
  const [item = ""] = items;
  expect(item).toContain(`href="${link}"`);
  expect(previewIn(item)).toEqual([
    `<video class="output" src="${OUTPUTS_URL}${pathOfLink(link)}"`,
  ]);
});

it("the console's page of a task shows the link of an output, but not the output, while neither OUTPUTS_URL nor PUBLIC_URL is set", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const { id, links } = await aTask(SOURCE);
  await copy(id);
  const { items } = await linksOn(id, { ...env, PUBLIC_URL: "" });
  expect(items.flatMap(previewIn)).toEqual([]);
  expect(items[0]).toContain(`href="${links[0]}"`);
  expect(notesIn(items[0])[0]).toContain("video/mp4");
});
