"use strict";
const page = JSON.parse(document.getElementById("document").textContent);
const root = document.documentElement;

// ---- colours: one for each encoding, the same in every figure

const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;
const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const shown = (colour) => colour === "#000000" ? variable("--ink") : colour;
const cycle = (list, index) => shown(list[index % list.length]);
const DASHES = ["solid", "dash", "dot"];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star"];
const look = (label) => {
  const { colour, marker, dashes } = page.looks[label];
  return { colour: shown(colour), dash: DASHES[dashes], symbol: SYMBOLS[marker] };
};
const paintChips = () => document.querySelectorAll(".chip").forEach((chip) => {
  chip.style.background = look(chip.dataset.label).colour;
});

// ---- tables: sorted by the buttons in their heads

function sortTable(button) {
  const head = button.closest("th"), table = head.closest("table"), column = head.cellIndex;
  const first = column === 0 || head.dataset.first === "ascending" ? "ascending" : "descending";
  const other = first === "ascending" ? "descending" : "ascending";
  const direction = head.getAttribute("aria-sort") === first ? other : first;
  table.querySelectorAll("thead th").forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", direction);
  const value = (row) => row.cells[column].dataset.value ?? "";
  const number = (row) => value(row) === "" ? NaN : Number(value(row));
  const rows = [...table.tBodies[0].rows];
  const numeric = rows.every((row) => value(row) === "" || !Number.isNaN(number(row)));
  rows.sort((a, b) => {
    if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === ""); // no number: last, always
    const order = numeric ? number(a) - number(b) : value(a).localeCompare(value(b));
    return direction === "ascending" ? order : -order;
  });
  table.tBodies[0].append(...rows);
}

const asP = (p) => p < 0.001 ? "< 0.001" : p.toFixed(3);

function fillVersus(section) {
  const group = page.groups[section.dataset.group], select = section.querySelector("select.baseline");
  if (!select) return;
  const baseline = Number(select.value);
  for (const row of section.querySelector("table.results").tBodies[0].rows) {
    const pair = group.versus[row.dataset.run][baseline];
    const set = (name, text, value) => {
      const cell = row.querySelector(`[data-column="${name}"]`);
      cell.textContent = text;
      cell.dataset.value = value;
    };
    if (!pair) {
      for (const name of ["difference", "wins", "p"]) set(name, "–", "");
      continue;
    }
    const points = 100 * pair.difference;
    set("difference", `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`, points);
    set("wins", `${pair.wins} of ${pair.common}`, pair.wins / pair.common);
    set("p", asP(pair.p), pair.p);
  }
}

// ---- figures: each a function from its place on the page to traces and a layout

const layoutOf = (more) => {
  const axis = { gridcolor: variable("--line"), zerolinecolor: variable("--line"), linecolor: variable("--faint"), automargin: true, exponentformat: "power" };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: variable("--ink"), size: 13, family: "system-ui, sans-serif" },
    margin: { l: 52, r: 12, t: 30, b: 46 },
    legend: { orientation: "h", x: 0, yref: "container", y: 0, yanchor: "bottom" },
    hoverlabel: { namelength: -1 },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
};
const title = (text) => ({ text, standoff: 8 });
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
const short = (label) => label.length > 22 ? label.replace(" (", "<br>(") : label;
const quantile = (values, share) => {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))];
};
const most = (values) => { // from the 1st to the 99th percentile, and a margin
  const low = quantile(values, 0.01), high = quantile(values, 0.99), margin = 0.15 * (high - low) || 1;
  return [low - margin, high + margin];
};
const THIRDS = ["low", "middle", "high"];
const FEW = 4; // filters drawn in colour where there are many

const FIGURES = {
  thirds(group) {
    const rows = [["eigenvalues", group.spectrum.eigenvalues]];
    if (group.spectrum.labels) rows.push(["labels", group.spectrum.labels]);
    for (const run of group.runs) if (run.filters) rows.push([`filters: ${run.label}`, run.filters.shares]);
    rows.reverse();
    const traces = THIRDS.map((third, index) => ({
      type: "bar", orientation: "h", name: third,
      y: rows.map((row) => short(row[0])), x: rows.map((row) => 100 * row[1][index]),
      text: rows.map((row) => row[1][index] >= 0.06 ? `${Math.round(100 * row[1][index])} %` : ""),
      textposition: "inside", insidetextanchor: "middle", textfont: { color: "#ffffff" }, textangle: 0,
      marker: { color: page.colours.thirds[index], line: { color: variable("--paper"), width: 1.5 } },
      hovertemplate: `%{y}<br>${third} third: %{x:.1f} %<extra></extra>`,
    }));
    return [traces, layoutOf({
      barmode: "stack", height: 130 + 42 * rows.length,
      margin: { l: 10, r: 12, t: 10, b: 46 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
      xaxis: { title: title("share in %"), range: [0, 100], fixedrange: true },
      yaxis: { fixedrange: true, ticks: "" },
    })];
  },

  filters(group, run) {
    const found = run.filters, colour = look(run.label).colour, spectrum = group.spectrum;
    const top = quantile(spectrum.density, 0.95); // a repeated eigenvalue, such as 0, is a spike that may go beyond
    const traces = [{
      type: "scatter", mode: "lines", name: "density of eigenvalues", x: spectrum.lambdas, y: spectrum.density,
      yaxis: "y2", fill: "tozeroy", line: { color: variable("--faint"), width: 0.5 }, fillcolor: "rgba(138,138,138,0.3)",
      hoverinfo: "skip",
    }];
    const few = found.response.length <= FEW + 2 ? found.response.length : FEW; // the strongest come first
    const single = (name, color, width) => (values, index) => ({
      type: "scatter", mode: "lines", name, legendgroup: name, showlegend: index === 0,
      x: found.lambdas, y: values, line: { color, width }, hoverinfo: "skip",
    });
    const [low, high] = found.range, margin = 0.08 * (high - low) || 1;
    traces.push(
      ...found.response.slice(few).map(single("other filters", "rgba(138,138,138,0.55)", 1)),
      ...found.response.slice(0, few).map(single(few < found.count ? `the ${few} strongest filters` : "filters", colour, 1.5)),
    );
    traces.push({
      type: "scatter", mode: "lines", name: "root mean square of all", x: found.lambdas, y: found.rms,
      line: { color: variable("--ink"), width: 2.5, dash: "8px,3px" }, hovertemplate: "λ = %{x:.2f}<br>rms of h %{y:.3g}<extra></extra>",
    });
    const border = (x) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: variable("--faint"), width: 1, dash: "dot" } });
    const names = THIRDS.map((third, index) => ({
      x: (2 * index + 1) / 3, y: 1, yref: "paper", yanchor: "bottom", showarrow: false,
      text: `${third}: ${percent(found.shares[index])}`, font: { size: 13 },
    }));
    return [traces, layoutOf({
      annotations: names, shapes: [border(2 / 3), border(4 / 3)],
      xaxis: { title: title("eigenvalue λ"), range: [-0.02, 2.02], tickvals: [0, 2 / 3, 1, 4 / 3, 2], ticktext: ["0", "2/3", "1", "4/3", "2"], zeroline: false },
      yaxis: { title: title(found.unit ? "h(λ), largest = 1" : "filter h(λ)"), range: [low - margin, high + margin], overlaying: "y2", tickmode: "auto", zerolinecolor: variable("--faint") },
      yaxis2: { visible: false, range: [0, 1.6 * top], fixedrange: true },
    })];
  },

  picture(group, run) {
    const found = run.picture;
    const names = [...new Set(found.classes)].sort((a, b) => a - b);
    const traces = names.map((name) => {
      const mine = found.classes.map((each, index) => each === name ? index : -1).filter((index) => index >= 0);
      const text = name < 0 ? "no label" : group.class_names[name] ?? `class ${name}`;
      return {
        type: "scatter", mode: "markers", name: text, x: mine.map((index) => found.x[index]), y: mine.map((index) => found.y[index]),
        marker: {
          size: 5, opacity: 0.6, color: name < 0 ? variable("--line") : cycle(page.colours.classes, name),
          symbol: SYMBOLS[Math.max(name, 0) % SYMBOLS.length],
        },
        hovertemplate: `${text}<extra></extra>`,
      };
    });
    return [traces, layoutOf({
      title: { text: short(run.label), font: { size: 14 }, y: 0.98, yanchor: "top" }, showlegend: names.length <= 8, margin: { l: 52, r: 12, t: 44, b: 46 },
      xaxis: { title: title(`direction 1, ${percent(found.share[0])} of variance`), nticks: 5, range: most(found.x) },
      yaxis: { title: title(`direction 2, ${percent(found.share[1])}`), nticks: 5, range: most(found.y) },
    })];
  },

  homophily(group) {
    const runs = group.runs.filter((run) => run.homophily);
    const bins = runs[0].homophily.count.length;
    const names = [...Array(bins).keys()].map((bin) => {
      const count = Math.max(...runs.map((run) => run.homophily.count[bin]));
      return `${(bin / bins).toFixed(1)} – ${((bin + 1) / bins).toFixed(1)}<br>${count} nodes`;
    });
    const traces = runs.map((run) => {
      const { colour, dash, symbol } = look(run.label);
      return {
        type: "scatter", mode: "lines+markers", name: run.label, x: names, y: run.homophily.score,
        customdata: run.homophily.count, line: { color: colour, dash, width: 2 }, marker: { color: colour, symbol, size: 9 },
        hovertemplate: "%{y:.1f} % of %{customdata} nodes<extra>" + run.label + "</extra>",
      };
    });
    return [traces, layoutOf({
      xaxis: { title: title("local homophily"), type: "category", range: [-0.4, bins - 0.6], tickangle: 0, tickfont: { size: 11 } },
      yaxis: { title: title("correct in %"), range: [-3, 105] },
    })];
  },

  curves(group, run, place) {
    const kind = place.closest("figure").querySelector("select").value;
    const traces = [];
    for (const each of group.runs) {
      const { colour, dash } = look(each.label);
      each.curves.forEach((curve, index) => traces.push({
        type: "scatter", mode: "lines", name: each.label, legendgroup: each.label, showlegend: index === 0,
        x: curve.epochs, y: curve[kind], line: { color: colour, dash, width: 1.4 }, opacity: 0.75,
        hovertemplate: `%{y:.4g} after %{x} steps<extra>${each.label}, split ${curve.split}</extra>`,
      }));
    }
    return [traces, layoutOf({
      xaxis: { title: title("steps"), rangemode: "tozero" },
      yaxis: { title: title(kind === "val" ? `validation ${group.metric} in %` : "training loss"), type: kind === "loss" ? "log" : "linear" },
    })];
  },
};

function draw(place) {
  const group = page.groups[place.closest("section").dataset.group];
  const [traces, layout] = FIGURES[place.dataset.kind](group, group.runs[place.dataset.run], place);
  if (layout.height) place.style.height = `${layout.height}px`;
  place.dataset.drawn = "yes";
  return Plotly.react(place, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
}
const redraw = () => document.querySelectorAll(".plot[data-drawn]").forEach(draw);

// ---- the library is in the page, compressed

async function loadPlotly() {
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
    const target = event.target, section = target.closest("section");
    if (target.matches("select.baseline")) fillVersus(section);
    if (target.matches("select.curves")) draw(target.closest("figure").querySelector(".plot"));
    if (target.matches("input[data-picture]")) {
      const figure = section.querySelector(`.plot[data-kind="picture"][data-run="${target.dataset.picture}"]`).closest("figure");
      figure.hidden = !target.checked;
      if (target.checked && figure.querySelector(".plot").dataset.drawn) draw(figure.querySelector(".plot"));
    }
  });
  const theme = document.getElementById("theme");
  const name = () => {
    theme.textContent = isDark() ? "light colours" : "dark colours";
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  const repaint = () => { name(); paintChips(); redraw(); };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; repaint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  name();
  paintChips();
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
