// What pages with lists do besides; every page works without it.

/** @type {(selector: string, within?: ParentNode) => HTMLElement[]} */
const all = (selector, within = document) =>
  [...within.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

for (const form of all("[data-selection]")) {
  const boxes = all("input[name=id]", form).filter((box) => box instanceof HTMLInputElement);
  const update = () => {
    const count = boxes.filter((box) => box.checked).length;
    for (const button of all("[data-selected]", form))
      button.toggleAttribute("disabled", count === 0);
    for (const text of all("[data-selected-count]", form))
      text.textContent = count === 0 ? "the selected" : String(count);
    for (const text of all("[data-selected-text]", form))
      text.textContent = `${count} of the ${boxes.length} shown are selected.`;
    for (const box of all("[data-select-all]", form).filter(
      (each) => each instanceof HTMLInputElement,
    ))
      [box.checked, box.indeterminate] = [count === boxes.length, count % boxes.length > 0];
    for (const box of boxes)
      box.closest("[data-row]")?.setAttribute("aria-selected", String(box.checked));
  };
  form.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLInputElement && "selectAll" in target.dataset) {
      for (const box of boxes) box.checked = target.checked;
    }
    update();
  });
  if (boxes.some((box) => box.checked)) update();
}

const step = document.querySelector("form[data-step]");
if (step instanceof HTMLFormElement) {
  setTimeout(() => step.requestSubmit(), 300 + 1000 * Number(step.dataset["step"]));
}

/** Requests a page and shows its content as a dialog. @type {(link: HTMLAnchorElement) => Promise<void>} */
async function openAsDialog(link) {
  if (link.ariaBusy === "true") return;
  link.ariaBusy = "true";
  const answer = await fetch(link.href, { headers: { Accept: "text/html" } }).catch(() => null);
  const text = answer?.ok === true ? await answer.text() : "";
  link.ariaBusy = null;
  const page = new DOMParser().parseFromString(text, "text/html");
  const [content] = all("[data-dialog-content]", page);
  if (content === undefined) return location.assign(link.href);
  const dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.ariaLabel = content.querySelector("h1")?.textContent ?? "";
  dialog.append(document.adoptNode(content));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const dialog = "close" in link.dataset ? link.closest("dialog") : null;
  if (dialog === null && !("dialog" in link.dataset)) return;
  event.preventDefault();
  if (dialog === null) void openAsDialog(link);
  else dialog.close();
});

const TASK = /^\/tasks\/[0-9a-f-]{36}$/;

function keepList() {
  const paths = all("[data-row] a")
    .map((link) => link.getAttribute("href") ?? "")
    .filter((path) => TASK.test(path));
  if (paths.length > 0) sessionStorage.setItem("list", JSON.stringify([...new Set(paths)]));
}

function showNeighbours() {
  /** @type {unknown} */
  const kept = JSON.parse(sessionStorage.getItem("list") ?? "[]");
  const paths = Array.isArray(kept) ? kept : [];
  const at = paths.indexOf(location.pathname);
  for (const link of all("[data-neighbour]")) {
    const path = at === -1 ? undefined : paths[at + Number(link.dataset["neighbour"])];
    if (typeof path !== "string") continue;
    link.setAttribute("href", path);
    link.hidden = false;
  }
}

// A dialog whose form was refused is open from the beginning

for (const dialog of all("dialog[open]:not(.dialog-page)")) {
  if (!(dialog instanceof HTMLDialogElement)) continue;
  dialog.close();
  dialog.showModal();
  all("[aria-invalid]", dialog)[0]?.focus();
}

keepList();
showNeighbours();
document.addEventListener("refreshed", keepList);
