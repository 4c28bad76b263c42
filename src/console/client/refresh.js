// Refreshes a page: every `data-refresh` seconds the page is asked for again, and the parts that have the attribute
// are replaced in place. The server says in each answer how long the next wait is. A part with `data-refresh-url` is
// replaced by what this path answers, and the page itself is not asked for.

/** @type {(selector: string) => HTMLElement[]} */
const all = (selector) =>
  [...document.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

const IDLE_MS = 30 * 60_000;
const LONGEST_WAIT_MS = 5 * 60_000;
let isLive = true;
let faults = 0;
let activeAt = Date.now();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @type {(isOn: boolean) => void} */
function setLive(isOn) {
  isLive = isOn;
  for (const button of all("[data-live]")) {
    button.setAttribute("aria-pressed", String(isOn));
    button.textContent = isOn ? "Live" : "Paused";
  }
  plan(isOn ? 0 : undefined);
}

/** @type {(waitMs?: number) => void} */
function plan(waitMs) {
  clearTimeout(timer);
  const waits = all("[data-refresh]").map((each) => Number(each.dataset["refresh"]) * 1000);
  if (waits.length === 0 || !isLive || document.hidden) return;
  const usual = Math.max(1000, Math.min(...waits));
  timer = setTimeout(
    () => void refresh(),
    waitMs ?? Math.min(usual * 2 ** faults, Math.max(usual, LONGEST_WAIT_MS)),
  );
}

async function refresh() {
  if (Date.now() - activeAt > IDLE_MS) return setLive(false);
  const version = all("[data-version]")[0]?.dataset["version"] ?? "none";
  const headers = { Accept: "text/html", "X-Refresh": version };
  const path = all("[data-refresh-url]")[0]?.dataset["refreshUrl"] ?? location.href;
  const answer = await fetch(path, { headers }).catch(() => null);
  if (answer?.status === 401) {
    showEnded(await answer.text());
    return setLive(false);
  }
  faults = answer?.ok === true ? 0 : faults + 1;
  if (answer?.ok === true) replaceParts(await answer.text());
  plan();
}

/** Shows above the data of the page, which stay, that the login has ended. @type {(html: string) => void} */
function showEnded(html) {
  const notice = new DOMParser().parseFromString(html, "text/html").getElementById("login-ended");
  const shown = document.getElementById("login-ended");
  if (notice !== null && shown === null) document.querySelector("main")?.prepend(notice);
}

/** @type {(html: string) => void} */
function replaceParts(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
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

for (const type of ["pointerdown", "keydown", "scroll"]) {
  document.addEventListener(type, () => (activeAt = Date.now()), { passive: true });
}
document.addEventListener("visibilitychange", () => plan(document.hidden ? undefined : 0));

document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("[data-live]") !== null) setLive(!isLive);
});
plan();
