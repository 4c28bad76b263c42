// Refreshes a page after the `data-refresh` seconds that its last answer names, and sends forms only while the relay
// answers and the login is valid, so that what was typed into them is not lost.

/** @type {(selector: string) => HTMLElement[]} */
const all = (selector) =>
  [...document.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

const IDLE_MS = 30 * 60_000;
const LONGEST_WAIT_MS = 5 * 60_000;
const LONGEST_ANSWER_MS = 65_000;

/**
 * Text of the button that stops and resumes refreshing. @type {"Live" | "No answer" | "Paused" | "Idle" | "Ended"}
 */
let state = "Live";
let faults = 0;
let activeAt = Date.now();
let answeredAt = Date.now();
/** @type {AbortController | undefined} */
let asking;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

const isOn = () => state === "Live" || state === "No answer";

/** @type {(next: typeof state) => void} */
function enter(next) {
  state = next;
  for (const button of all("[data-live]")) {
    button.dataset["live"] = next;
    button.textContent = next;
  }
}

function resume() {
  if (!isOn()) enter("Live");
  plan(0);
}

/** Plans the next refresh, and aborts the one that is running. @type {(waitMs?: number) => void} */
function plan(waitMs) {
  clearTimeout(timer);
  asking?.abort();
  asking = undefined;
  const waits = all("[data-refresh]").map((each) => Number(each.dataset["refresh"]) * 1000);
  if (waits.length === 0 || !isOn() || document.hidden) return;
  timer = setTimeout(() => void refresh(), waitMs ?? Math.max(1000, Math.min(...waits)));
}

async function refresh() {
  if (Date.now() - activeAt > IDLE_MS) return enter("Idle");
  const own = new AbortController();
  asking = own;
  const version = all("[data-version]")[0]?.dataset["version"];
  const path = all("[data-refresh-url]")[0]?.dataset["refreshUrl"];
  const { status, html } = await ask(path ?? location.href, version, own);
  if (asking !== own) return;
  if (status === 200) {
    faults = 0;
    answeredAt = Date.now();
    hideStrip();
    enter("Live");
    replaceParts(html);
    return plan();
  }
  if ([401, 403, 404].includes(status)) return showEnd(html);
  faults += 1;
  // One failure alone is not shown: a deployment interrupts a request.
  if (faults === 2) {
    enter("No answer");
    const clock = new Date(answeredAt).toISOString().slice(11, 19);
    showStrip(`The relay does not answer. What you see is of ${clock} UTC.`);
  }
  plan(Math.min(1000 * 2 ** faults, LONGEST_WAIT_MS));
}

/** Requests a path. Returns the status 0 when there is no answer. @param {string} path */
async function ask(path, version = "none", end = new AbortController()) {
  const timeout = setTimeout(() => end.abort(), LONGEST_ANSWER_MS);
  try {
    const headers = { Accept: "text/html", "X-Refresh": version };
    const answer = await fetch(path, { headers, signal: end.signal });
    return { status: answer.status, html: await answer.text() };
  } catch {
    return { status: 0, html: "" };
  } finally {
    clearTimeout(timeout);
  }
}

/** Shows that the login has ended or the page is gone. The data on the page stay. @type {(html: string) => void} */
function showEnd(html) {
  enter("Ended");
  const page = parsed(html);
  const here = encodeURIComponent(location.pathname + location.search);
  const notice = page.getElementById("login-ended");
  notice?.querySelector("a")?.setAttribute("href", `/login?return_to=${here}`);
  const title = page.querySelector("h1")?.textContent;
  showStrip(...(notice?.childNodes ?? [`${title}. What you see is no longer refreshed.`]));
}

/** @type {(html: string) => Document} */
const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

/**
 * Shows a line above the content of the page, which does not move. @type {(...content: (Node | string)[]) => void}
 */
function showStrip(...content) {
  hideStrip();
  const strip = document.createElement("p");
  strip.className = "strip";
  strip.role = "alert";
  strip.append(...content);
  // What is outside an open dialog can be neither clicked nor read.
  (document.querySelector("dialog:modal") ?? document.body).append(strip);
}

const hideStrip = () => document.querySelector(".strip")?.remove();

/** @type {(html: string) => void} */
function replaceParts(html) {
  const page = parsed(html);
  for (const part of all("[data-refresh]")) {
    const fresh = page.getElementById(part.id);
    if (fresh === null) continue;
    Idiomorph.morph(part, fresh, {
      ignoreActiveValue: true,
      callbacks: { beforeAttributeUpdated: (/** @type {string} */ name) => name !== "open" },
    });
  }
  document.dispatchEvent(new Event("refreshed"));
}

/** The form that was checked and is now sent; null while there is none. @type {EventTarget | null} */
let checked = null;

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || form === checked) return;
  if (form.getAttribute("action") === "/login" || form.closest("main, dialog") === null) return;
  event.preventDefault();
  if (form.ariaBusy !== "true") void send(form, submitter);
});

/** @type {(form: HTMLFormElement, submitter: HTMLElement | null) => Promise<void>} */
async function send(form, submitter) {
  form.ariaBusy = "true";
  const { status, html } = await ask("/login/check");
  if (status === 0 || status === 401) {
    form.ariaBusy = null;
    if (status === 401) return showEnd(html);
    return showStrip("The relay does not answer. The form was not sent.");
  }
  checked = form;
  form.requestSubmit(submitter);
  checked = null;
  setTimeout(() => (form.ariaBusy = null), LONGEST_ANSWER_MS);
}

for (const type of ["pointerdown", "keydown", "scroll"]) {
  document.addEventListener(type, wake, { passive: true });
}
document.addEventListener("visibilitychange", wake);

/** @type {(event: Event) => void} */
function wake({ target, type }) {
  activeAt = Date.now();
  const isShown = type === "visibilitychange" && state !== "Paused";
  if (isShown || (state === "Idle" && !isSwitch(target))) resume();
}

/** @type {(target: EventTarget | null) => boolean} */
const isSwitch = (target) => target instanceof Element && target.matches("[data-live]");

document.addEventListener("click", ({ target }) => {
  if (!isSwitch(target)) return;
  if (!isOn()) return resume();
  enter("Paused");
  plan();
});
plan();
