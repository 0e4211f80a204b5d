// What the pages of the explorer do beyond what HTML does: tables are sorted, more rows are loaded, pictures answer to
// the pointer. Without it all pages work.
"use strict";

const UNITS = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

// The value of a cell to sort by: a number (also with a unit), or its text, which for moments sorts by time.
function valueOf(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  const number = /^(-?[\d,]+(?:\.\d+)?)(?: (B|kB|MB|GB|TB)|%)?$/.exec(text);
  return number ? Number(number[1].replaceAll(",", "")) * (UNITS[number[2]] ?? 1) : text;
}

// Numbers come before texts, and what is empty comes last in both directions.
function compared(value, other, direction) {
  if (value === "" || other === "") return (value === "") - (other === "");
  if (typeof value !== typeof other) return typeof value === "number" ? -1 : 1;
  return direction * (typeof value === "number" ? value - other : value.localeCompare(other, "en"));
}

function sort(table, column, direction) {
  for (const body of table.tBodies) {
    const rows = [...body.rows].map((row) => [row.cells[column] ? valueOf(row.cells[column]) : "", row]);
    rows.sort(([value], [other]) => compared(value, other, direction));
    body.append(...rows.map(([, row]) => row));
  }
  for (const heading of table.tHead.rows[0].cells) heading.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
}

function makeSortable(table) {
  if (!table.tHead) return;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      sort(table, column, heading.getAttribute("aria-sort") === "ascending" ? -1 : 1);
    });
  });
}

// The rows that follow go below those that are there, and the link leads on after them.
async function loadMore(link) {
  const table = tableBefore(link);
  link.setAttribute("aria-busy", "true");
  const answer = await fetch(link.href, { headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const further = page.querySelector("table.records");
  if (!further || further.tHead.rows[0].cells.length !== table.tHead.rows[0].cells.length) throw new Error("no rows");
  const rows = [...further.tBodies[0].rows];
  table.tBodies[0].append(...rows);
  // A new row is not in its place in the order that was chosen.
  for (const heading of table.tHead.rows[0].cells) heading.removeAttribute("aria-sort");
  const place = link.closest("p");
  for (const problem of page.querySelectorAll("main .problem")) place.before(problem);
  const next = page.querySelector("a.more[rel=next]");
  if (next) link.replaceWith(next);
  else place.remove();
  focusOn(rows[0]);
}

function focusOn(row) {
  if (!row) return;
  const target = row.querySelector("a") ?? row;
  if (target === row) row.tabIndex = -1;
  target.focus();
}

function tableBefore(link) {
  const before = [...document.querySelectorAll("table.records")].filter(
    (table) => table.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return before.at(-1);
}

// Pictures: what data-label or an SVG's <title> says is shown beside the pointer at once.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true"); // who does not see it has heard it already

// The browser would show a <title> too, a second later. Links around it have their names in aria-label.
function takeTitle(title) {
  title.parentElement.dataset.label = title.textContent;
  title.remove();
}

function showTip(event) {
  const label = event.target.closest?.("[data-label]")?.dataset.label;
  tip.hidden = !label;
  if (!label) return;
  tip.textContent = label;
  const left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4);
  const top = event.clientY + 16 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 16;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${top}px`;
}

document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
document.querySelectorAll("svg title").forEach(takeTitle);
document.body.append(tip);
document.addEventListener("pointermove", showTip);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.more[rel=next]");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || !tableBefore(link)) return;
  event.preventDefault();
  if (link.getAttribute("aria-busy") === "true") return;
  loadMore(link).catch(() => location.assign(link.href));
});
