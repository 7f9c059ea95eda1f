"use strict";
const root = document.documentElement;
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;

// ---- tables: sorted by the buttons in their heads, compared with the chosen baseline

function sortTable(button) {
  const head = button.closest("th"), table = head.closest("table"), column = head.cellIndex;
  const first = column === 0 || head.dataset.first === "ascending" ? "ascending" : "descending";
  const other = first === "ascending" ? "descending" : "ascending";
  const direction = head.getAttribute("aria-sort") === first ? other : first;
  table.querySelectorAll("thead th").forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", direction);
  const value = (row) => row.cells[column].dataset.value ?? "";
  const rows = [...table.tBodies[0].rows];
  const numeric = rows.every((row) => !Number.isNaN(Number(value(row))));
  rows.sort((a, b) => {
    if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === ""); // no number: last, always
    const order = numeric ? value(a) - value(b) : value(a).localeCompare(value(b));
    return direction === "ascending" ? order : -order;
  });
  table.tBodies[0].append(...rows);
}

function fillVersus(section, baseline) {
  const versus = JSON.parse(section.querySelector(".versus").textContent)[baseline];
  for (const row of section.querySelector("table.results").tBodies[0].rows) {
    versus[row.dataset.run].forEach(([text, value], index) => {
      const cell = row.cells[3 + index]; // after encoding, test and splits
      cell.textContent = text;
      cell.dataset.value = value ?? "";
    });
  }
}

// ---- figures: made in Python; only their colours and the size of the screen are known here

function draw(place) {
  const style = getComputedStyle(root), text = place.nextElementSibling.textContent;
  const figure = JSON.parse(text.replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim()));
  if (figure.layout.height) place.style.height = `${figure.layout.height}px`;
  if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
  place.dataset.drawn = "yes";
  return Plotly.react(place, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false });
}

async function loadPlotly() { // it is in the page, compressed
  const text = document.getElementById("plotly").textContent;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

function listen() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("thead button");
    if (button) sortTable(button);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("select.baseline")) fillVersus(event.target.closest("section"), event.target.value);
  });
  const theme = document.getElementById("theme");
  const paint = () => {
    theme.textContent = isDark() ? "light colours" : "dark colours";
    theme.setAttribute("aria-pressed", String(isDark()));
    document.querySelectorAll(".plot[data-drawn]").forEach(draw);
  };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  paint();
}

async function start() {
  listen();
  if (!("DecompressionStream" in window)) throw new Error("it needs a browser of 2023 or newer");
  await loadPlotly();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll(".plot").forEach((place) => watcher.observe(place));
  root.dataset.ready = "yes";
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.textContent = `The tables are complete; the figures could not be drawn: ${error.message}.`;
  trouble.hidden = false;
});
