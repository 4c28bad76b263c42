// The script of the pages of the reference besides that of every page; they can be read without it.

/** @type {(selector: string, within?: ParentNode) => HTMLElement[]} */
const all = (selector, within = document) =>
  [...within.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

// Examples: have the origin of this relay

for (const main of all("[data-origin]")) {
  const origin = main.dataset["origin"] ?? "";
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (text.nodeValue?.includes(origin) === true)
      text.nodeValue = text.nodeValue.replaceAll(origin, location.origin);
  }
}

/** Lets screen readers say what has happened. @type {(text: string) => void} */
function say(text) {
  const line = document.getElementById("said");
  if (line !== null) line.textContent = text;
}

// Filters

for (const input of all("input[data-filter]")) {
  if (!(input instanceof HTMLInputElement)) continue;
  const entries = all("[data-entry]").map((entry) => ({
    entry,
    text: entry.textContent.toLowerCase(),
  }));
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { entry, text } of entries)
      entry.hidden = !words.every((word) => text.includes(word));
    for (const group of all("[data-filter-group]")) {
      for (const link of all("li > a[href^='#']", group)) {
        const target = document.getElementById(
          decodeURIComponent(link.getAttribute("href")?.slice(1) ?? ""),
        );
        if (link.parentElement !== null) link.parentElement.hidden = target?.hidden === true;
      }
      const found = all("[data-entry], nav li", group);
      group.hidden = found.length > 0 && found.every((entry) => entry.hidden);
    }
    const count = entries.filter(({ entry }) => !entry.hidden).length;
    for (const none of all("[data-filter-none]")) none.hidden = count > 0;
    if (words.length > 0) say(`${count} found`);
  };
  input.addEventListener("input", filter);
  if (input.value !== "") filter();
}

// Contents: marks the section that is being read

const contents = new Map(
  all(".contents a").map((link) => [
    decodeURIComponent(link.getAttribute("href")?.slice(1) ?? ""),
    link,
  ]),
);
const reading = new IntersectionObserver(
  (seen) => {
    for (const { target, isIntersecting } of seen) {
      if (isIntersecting) mark(target.id);
    }
  },
  { rootMargin: "-15% 0px -75%" },
);
for (const id of contents.keys()) {
  const section = document.getElementById(id);
  if (section !== null) reading.observe(section);
}

/** @type {(id: string) => void} */
function mark(id) {
  for (const [each, link] of contents) {
    if (each === id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
