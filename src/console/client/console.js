// The script of every page; each can be read without it.

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const root = document.documentElement;

/** @type {(selector: string, within?: ParentNode) => HTMLElement[]} */
const all = (selector, within = document) =>
  [...within.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

/** @type {(name: string) => string} */
const cookie = (name) =>
  document.cookie
    .split("; ")
    .find((each) => each.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? "";

/** @type {(name: string, value: string) => void} */
const keepCookie = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
};

// Times

let isUtc = cookie("zone") === "utc";

/** @type {(at: Date, isExact: boolean) => string} */
function timeText(at, isExact) {
  const shifted = isUtc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  const clock = shifted.toISOString().slice(11, isExact ? 23 : 19);
  return `${String(shifted.getUTCDate()).padStart(2, "0")} ${MONTHS[shifted.getUTCMonth()]} ${clock}`;
}

/** @type {(at: Date) => string} */
function agoText(at) {
  const seconds = Math.abs(at.getTime() - Date.now()) / 1000;
  /** @type {[number, string][]} */
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const [size, name] = units.find(([unit]) => seconds >= unit) ?? [0, ""];
  if (size === 0) return "now";
  const amount = `${Math.floor(seconds / size)} ${name}`;
  return at.getTime() <= Date.now() ? `${amount} ago` : `in ${amount}`;
}

function writeTimes() {
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const text = "ago" in time.dataset ? agoText(at) : timeText(at, "ms" in time.dataset);
    if (time.textContent !== text) time.textContent = text;
  }
  for (const button of all("[data-zone]")) button.textContent = isUtc ? "UTC" : "Local";
}

// Buttons

/** @type {(button: HTMLElement) => Promise<void>} */
async function copy(button) {
  const text =
    button.dataset["copy"] ?? button.parentElement?.querySelector("pre")?.textContent ?? "";
  await navigator.clipboard.writeText(text);
  button.dataset["done"] = "";
  setTimeout(() => delete button.dataset["done"], 1500);
  say("Copied");
}

function switchTheme() {
  const isDark =
    root.dataset["theme"] === undefined
      ? matchMedia("(prefers-color-scheme: dark)").matches
      : root.dataset["theme"] === "dark";
  const theme = isDark ? "light" : "dark";
  root.dataset["theme"] = theme;
  keepCookie("theme", theme);
}

/** Lets screen readers say what has happened. @type {(text: string) => void} */
function say(text) {
  const line = document.getElementById("said");
  if (line !== null) line.textContent = text;
}

/**
 * Opens or closes the dialog of a button, in browsers without the attribute `command`.
 * @type {(button: HTMLElement) => void}
 */
function command(button) {
  if ("command" in HTMLButtonElement.prototype) return;
  const dialog = document.getElementById(button.getAttribute("commandfor") ?? "");
  if (!(dialog instanceof HTMLDialogElement)) return;
  if (button.getAttribute("command") === "show-modal") dialog.showModal();
  else dialog.close();
}

document.addEventListener("click", ({ target }) => {
  if (!(target instanceof Element)) return;
  if (target.closest("details.menu") === null || target.closest("[commandfor]") !== null)
    closeMenu();
  const button = target.closest("button");
  if (button === null) return;
  if (button.classList.contains("copy")) void copy(button);
  if (button.hasAttribute("command")) command(button);
  if ("themeSwitch" in button.dataset) switchTheme();
  if ("zone" in button.dataset) {
    isUtc = !isUtc;
    keepCookie("zone", isUtc ? "utc" : "local");
    writeTimes();
  }
});

function closeMenu() {
  const menu = document.querySelector("details.menu[open]");
  if (menu?.contains(document.activeElement)) menu.querySelector("summary")?.focus();
  menu?.removeAttribute("open");
}

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") closeMenu();
});

// Keys

let areKeysOn = cookie("keys") !== "off";
let prefix = "";

for (const box of all("[data-keys-switch]")) {
  if (!(box instanceof HTMLInputElement)) continue;
  box.checked = areKeysOn;
  box.addEventListener("change", () => {
    areKeysOn = box.checked;
    keepCookie("keys", areKeysOn ? "on" : "off");
  });
}

/** Moves the focus by a number of rows of a table. @type {(step: number) => void} */
function moveRow(step) {
  const rows = all("[data-row]");
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at === -1 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  row?.querySelector("a")?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

/**
 * Actions of the keys j, k, x and c. Each gets the table row that has the focus, or null.
 * @type {Record<string, (row: Element | null) => void>}
 */
const ROW_KEYS = {
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: (row) => row?.querySelector("input")?.click(),
  c: (row) => all(".copy", row ?? document.querySelector("main") ?? document)[0]?.click(),
};

/** Performs the action of a key. Returns false when the key has no action. @type {(key: string) => boolean} */
function press(key) {
  const ofRow = ROW_KEYS[key];
  if (ofRow !== undefined) {
    ofRow(document.activeElement?.closest("[data-row]") ?? null);
    return true;
  }
  const found = all(`[data-key="${CSS.escape(key)}"]:not([hidden])`)[0];
  if (found instanceof HTMLInputElement) found.focus();
  else found?.click();
  return found !== undefined;
}

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const isTyping =
    target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
  if (!areKeysOn || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const isPressed = press(prefix === "" ? key : `${prefix} ${key}`);
  prefix = !isPressed && key === "g" ? "g" : "";
  if (isPressed) event.preventDefault();
});

root.dataset["scripted"] = "";
if (root.dataset["theme"] === undefined && cookie("theme") !== "")
  root.dataset["theme"] = cookie("theme");
writeTimes();
setInterval(() => document.hidden || writeTimes(), 1000);
document.addEventListener("refreshed", writeTimes);
