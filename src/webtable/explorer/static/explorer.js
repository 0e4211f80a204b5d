// What the pages do beyond what HTML does: keys, and back restores what was typed. Without it all pages work.
"use strict";

const KEYS = "/ to the field at the top, j and k through rows, Enter opens, ? shows this";
const go = document.getElementById("go");
const fields = () => [...document.querySelectorAll("main :is(input, select)[name], header input[name]:not([type=hidden])")];

function move(step) {
  const links = [...document.querySelectorAll("tbody tr, .findings li, .groups li")]
    .filter((row) => row.checkVisibility())
    .map((row) => row.querySelector("a"))
    .filter(Boolean);
  const row = document.activeElement.closest?.("tr, li");
  const at = links.findIndex((link) => row?.contains(link));
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
}

function showKeys() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keys");
  dialog.innerHTML = `<p>${KEYS.replaceAll(", ", "<p>")}<form method="dialog"><button>Close</button></form>`;
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), select, dialog")) return;
  const act = { "/": () => go.focus(), j: () => move(1), k: () => move(-1), "?": showKeys }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// Pages are not stored by the browser, which then forgets what was typed into them.
const key = `typed ${location.pathname}${location.search}`;
addEventListener("pagehide", () => sessionStorage.setItem(key, JSON.stringify(fields().map((field) => [field.value, field.checked]))));
if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
  const typed = JSON.parse(sessionStorage.getItem(key) ?? "[]");
  fields().forEach((field, at) => {
    if (!typed[at]) return;
    if (field.type === "checkbox" || field.type === "radio") field.checked = typed[at][1];
    else field.value = typed[at][0];
  });
}
