// Draws the curves and the predictions of a page, and asks for what is new while a run goes on.
(() => {
  "use strict";

  const ROWS_AT_ONCE = 40;
  const ASK_EVERY = 2000; // ms
  const HEIGHTS = { first: 300, others: 200 };
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const readData = (from) => JSON.parse(find("#page-data", from).textContent);
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  let data = readData(document);

  // numbers

  function inWords(value, chart) {
    if (value === null || value === undefined) return "–";
    if (chart === "Memory") return inBytes(value);
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2).replace(/\.?0+e/, "e");
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return String(Number(value.toPrecision(5)));
  }

  function inBytes(value) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    let left = value;
    while (left >= 1000 && unit < units.length - 1) {
      left /= 1000;
      unit += 1;
    }
    return `${Number(left.toPrecision(4))} ${units[unit]}`;
  }

  // curves

  let plots = [];
  let range = null; // [first, last] step that is shown; null for the whole run

  const joined = (chart) =>
    chart.curves.length
      ? uPlot.join(chart.curves.map((curve) => [curve.steps, curve.values]))
      : [[]];

  function colorOf(chart, number) {
    const curve = chart.curves[number];
    if (data.compares) return `--run-${curve.run % 8}`;
    const before = chart.curves.slice(0, number).filter((other) => !other.faint).length;
    return `--run-${before % 8}`;
  }

  function nearestValue(values, at) {
    if (at === null || at === undefined) return null;
    for (let away = 0; away < values.length; away += 1) {
      if (values[at - away] != null) return at - away;
      if (values[at + away] != null) return at + away;
    }
    return null;
  }

  function drawChart(figure, chart, isFirst) {
    const place = find(".plot", figure);
    const legend = find(".legend", figure);
    place.replaceChildren();
    legend.replaceChildren();
    const values = joined(chart);
    const axis = {
      stroke: () => color("--soft"),
      grid: { stroke: () => color("--grid"), width: 1 },
      ticks: { stroke: () => color("--line"), width: 1, size: 4 },
      font: "11px system-ui, sans-serif",
    };
    const onlyTens = (_, splits) =>
      splits.map((split) => (Math.abs(Math.log10(split) % 1) < 1e-9 ? split : null));
    const decades = { filter: onlyTens, grid: { ...axis.grid, filter: onlyTens } };
    const numbers = (_, splits) =>
      splits.map((split) => (split === null ? "" : inWords(split, chart.name)));
    const options = {
      width: Math.max(place.clientWidth, 200),
      height: isFirst ? HEIGHTS.first : HEIGHTS.others,
      legend: { show: false },
      scales: { x: { time: false }, y: chart.logarithmic ? { distr: 3 } : {} },
      axes: [
        { ...axis, values: (_, splits) => splits.map((step) => inWords(step)), size: 34, space: 70 },
        { ...axis, values: numbers, size: 54, space: 36, ...(chart.logarithmic ? decades : {}) },
      ],
      cursor: {
        drag: { x: true, y: false, dist: 5, setScale: false },
        dataIdx: (plot, series, at) => nearestValue(plot.data[series], at) ?? at,
        points: { size: 7 },
        bind: { dblclick: () => () => zoom(null) },
        sync: {
          key: "steps",
          scales: ["x", null],
          filters: { pub: (kind) => kind === "mousemove" || kind === "mouseleave" },
        },
      },
      hooks: {
        setCursor: [(plot) => tell(plot)],
        setSelect: [(plot) => zoomToSelected(plot)],
      },
      series: [
        {},
        ...chart.curves.map((curve, number) => ({
          label: curve.name,
          stroke: () => color(colorOf(chart, number)),
          width: curve.faint ? 1 : 2,
          alpha: curve.faint ? 0.38 : 1,
          dash: curve.dashed ? [6, 4] : undefined,
          spanGaps: false,
          points: { show: curve.points || curve.steps.length === 1, size: 6 },
        })),
      ],
    };
    const plot = new uPlot(options, values, place);
    plot.chart = chart;
    plot.place = place;
    plot.at = element("span", "", "at");
    plot.entries = chart.curves.map((curve, number) => entryOf(plot, curve, number));
    legend.append(...plot.entries.map((entry) => entry.button), plot.at);
    tell(plot);
    return plot;
  }

  function entryOf(plot, curve, number) {
    const button = element("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.classList.toggle("dashed", curve.dashed);
    const line = element("i");
    line.style.borderColor = `var(${colorOf(plot.chart, number)})`;
    line.style.opacity = curve.faint ? 0.45 : 1;
    const value = element("b");
    button.append(line, element("span", curve.name), value);
    button.addEventListener("click", () => {
      const show = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(show));
      plot.setSeries(number + 1, { show });
    });
    return { button, value };
  }

  function tell(plot) {
    if (!plot.entries) return;
    const idle = plot.cursor.left === undefined || plot.cursor.left < 0 || plot.cursor.idx == null;
    plot.entries.forEach((entry, number) => {
      const values = plot.data[number + 1];
      const at = nearestValue(values, idle ? values.length - 1 : plot.cursor.idx);
      entry.value.textContent = inWords(at === null ? null : values[at], plot.chart.name);
    });
    const step = plot.data[0][idle ? plot.data[0].length - 1 : plot.cursor.idx];
    plot.at.textContent = step === undefined ? "" : `step ${inWords(step)}`;
  }

  function zoomToSelected(plot) {
    const { left, width } = plot.select;
    if (width <= 0) return;
    zoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  function zoom(to, chosen) {
    range = to;
    const last = lastStep();
    for (const plot of plots) {
      const steps = plot.data[0];
      if (!steps.length) continue;
      const [min, max] = to ?? [steps[0], Math.max(last, steps[steps.length - 1])];
      plot.setScale("x", min < max ? { min, max } : { min: min - 1, max: max + 1 });
    }
    const share = to === null ? "1" : chosen;
    for (const button of all("[data-range]")) {
      button.setAttribute("aria-pressed", String(button.dataset.range === share));
    }
  }

  const lastStep = () =>
    Math.max(0, ...data.charts.flatMap((chart) => chart.curves.map((curve) => curve.steps.at(-1) ?? 0)));

  function drawCharts() {
    plots.forEach((plot) => plot.destroy());
    plots = [];
    const charts = new Map(data.charts.map((chart) => [chart.name, chart]));
    all("figure.chart").forEach((figure, number) => {
      const chart = charts.get(figure.dataset.chart);
      if (chart && chart.curves.length) plots.push(drawChart(figure, chart, number === 0));
    });
    zoom(range);
    all("[data-range]").forEach((button) => {
      button.onclick = () => {
        const share = Number(button.dataset.range);
        const last = lastStep();
        zoom(share === 1 ? null : [last * (1 - share), last], button.dataset.range);
      };
    });
  }

  function resize() {
    for (const plot of plots) {
      const width = plot.place.clientWidth;
      if (width && width !== plot.width) plot.setSize({ width, height: plot.height });
    }
  }

  // predictions

  const table = { sort: null, down: false, shown: ROWS_AT_ONCE };

  const WHICH = {
    all: ["all rows", () => true],
    right: ["right: score 1", (row) => row.scores.at(-1) === 1],
    partly: ["partly right", (row) => row.scores.at(-1) > 0 && row.scores.at(-1) < 1],
    wrong: ["wrong: score 0", (row) => row.scores.at(-1) === 0],
    gained: ["gained", (row) => row.scores.at(-1) > row.scores[0]],
    lost: ["lost", (row) => row.scores.at(-1) < row.scores[0]],
    differ: ["answers differ", (row) => new Set(row.answers).size > 1],
  };

  function columnsOf(answers) {
    const columns = [
      { name: "row", kind: "place", text: (row) => row.place },
      { name: "input", kind: "input", text: (row) => row.input },
      { name: "target", kind: "", text: (row) => row.target },
    ];
    answers.columns.forEach((name, number) => {
      columns.push({
        name,
        kind: "",
        text: (row) => row.answers[number],
        score: (row) => row.scores[number],
      });
      columns.push({
        name: `${answers.score}, ${name}`,
        text: (row) => row.scores[number].toFixed(2),
        value: (row) => row.scores[number],
        before: number > 0 ? (row) => row.scores[0] : null,
      });
    });
    return columns;
  }

  function chosenRows() {
    const sought = find(".search").value.toLowerCase();
    const fits = WHICH[find(".which").value][1];
    const column = Number(find(".column").value);
    const low = Number(find(".low").value || 0);
    const high = Number(find(".high").value || 1);
    const rows = data.answers.rows.filter(
      (row) =>
        fits(row) &&
        row.scores[column] >= low &&
        row.scores[column] <= high &&
        (!sought ||
          [row.place, row.input, row.target, ...row.answers].some((text) =>
            text.toLowerCase().includes(sought),
          )),
    );
    const by = table.sort === null ? null : columnsOf(data.answers)[table.sort];
    if (by) {
      const value = by.value ?? by.text;
      const compare = (a, b) =>
        typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
      rows.sort((a, b) => compare(value(a), value(b)) * (table.down ? -1 : 1));
    }
    return rows;
  }

  function drawAnswers() {
    if (!data.answers) return;
    const columns = columnsOf(data.answers);
    const head = element("tr");
    columns.forEach((column, number) => {
      const cell = element("th", undefined, column.value ? "score" : column.kind);
      const button = element("button", column.name);
      button.type = "button";
      if (table.sort === number) {
        button.setAttribute("aria-sort", table.down ? "descending" : "ascending");
      }
      button.addEventListener("click", () => {
        table.down = table.sort === number ? !table.down : Boolean(column.value);
        table.sort = number;
        drawAnswers();
      });
      cell.append(button);
      head.append(cell);
    });
    find(".answers thead").replaceChildren(head);
    const rows = chosenRows();
    find(".answers tbody").replaceChildren(
      ...rows.slice(0, table.shown).map((row) => drawRow(row, columns)),
    );
    find("#answers .count").textContent =
      `${rows.length.toLocaleString("en")} of ${data.answers.rows.length.toLocaleString("en")} rows.`;
    find(".more").hidden = rows.length <= table.shown;
  }

  function drawRow(row, columns) {
    const line = element("tr");
    for (const column of columns) {
      const cell = element("td", undefined, column.value ? "score" : "");
      cell.dataset.name = column.name;
      if (column.value) {
        cell.textContent = column.text(row);
        const change = column.before ? column.value(row) - column.before(row) : 0;
        if (change) cell.classList.add(change > 0 ? "gained" : "lost");
      } else {
        const text = element("div", column.text(row) || "(nothing)", "clamp");
        if (column.score) {
          if (column.score(row) === 1) text.classList.add("right");
          if (column.score(row) === 0) text.classList.add("wrong");
        }
        text.addEventListener("click", () => text.classList.toggle("open"));
        cell.append(text);
      }
      line.append(cell);
    }
    return line;
  }

  function fillSelect(select, options) {
    const before = select.value;
    select.replaceChildren(
      ...options.map(([value, text]) => {
        const option = element("option", text);
        option.value = value;
        return option;
      }),
    );
    if (options.some(([value]) => value === before)) select.value = before;
  }

  function readyAnswers() {
    if (!data.answers) return;
    const one = data.answers.columns.length === 1;
    const kinds = Object.entries(WHICH).filter(
      ([name]) => !one || !["gained", "lost", "differ"].includes(name),
    );
    fillSelect(find(".which"), kinds.map(([name, [text]]) => [name, text]));
    const columns = data.answers.columns.map((name, number) => [String(number), name]);
    fillSelect(find(".column"), columns.reverse());
    for (const control of all(".filters input, .filters select")) {
      control.oninput = () => {
        table.shown = ROWS_AT_ONCE;
        drawAnswers();
      };
    }
    find(".more").onclick = () => {
      table.shown += ROWS_AT_ONCE * 5;
      drawAnswers();
    };
    drawAnswers();
  }

  // light and dark, copying

  const THEMES = { auto: "◐", light: "☀", dark: "☾" };

  function readyTheme() {
    const button = find(".theme");
    const show = () => {
      const now = document.documentElement.dataset.theme ?? "auto";
      button.textContent = THEMES[now];
      button.setAttribute("aria-label", `Colours: ${now}`);
    };
    button.addEventListener("click", () => {
      const names = Object.keys(THEMES);
      const now = document.documentElement.dataset.theme ?? "auto";
      const next = names[(names.indexOf(now) + 1) % names.length];
      if (next === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      try {
        localStorage.setItem("surefit-theme", next);
      } catch {
        // It holds for this visit.
      }
      show();
      redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    show();
  }

  const redraw = () => plots.forEach((plot) => plot.redraw(false, true));

  async function copy(button) {
    const text = find("pre", button.parentElement).textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copySelected(text);
    }
    button.textContent = done ? "Copied" : "Copy failed: select the text";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  function copySelected(text) {
    const area = element("textarea", text);
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  document.addEventListener("click", (event) => {
    if (event.target.matches(".copy")) copy(event.target);
  });

  // a run that goes on

  let stamp = null;

  function sayLive(text, gone = false) {
    const place = find(".live");
    place.hidden = false;
    place.textContent = text;
    place.classList.toggle("gone", gone);
  }

  async function ask() {
    try {
      const headers = stamp ? { "If-None-Match": stamp } : {};
      const answer = await fetch(location.href, { cache: "no-store", headers });
      if (answer.status === 200) {
        stamp = answer.headers.get("ETag");
        take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
      if (!("live" in document.body.dataset)) {
        sayLive("ended");
        return;
      }
      sayLive("live");
    } catch {
      sayLive("connection to surefit report lost", true);
    }
    setTimeout(ask, ASK_EVERY);
  }

  function take(page) {
    data = readPage(page);
    if (!("live" in page.body.dataset)) delete document.body.dataset.live;
    for (const part of all("[data-part]")) {
      const fresh = find(`[data-part="${part.dataset.part}"]`, page);
      if (!fresh) continue;
      if (part.dataset.part === "answers") part.hidden = fresh.hidden;
      else if (part.dataset.part === "charts") takeCharts(part, fresh);
      else replaceFolded(part, fresh);
    }
    readyAnswers();
  }

  function takeCharts(part, fresh) {
    const names = (section) => all("figure.chart", section).map((figure) => figure.dataset.chart);
    part.hidden = fresh.hidden;
    const curves = plots.map((plot) => plot.chart.curves.length).join();
    const drawn = data.charts.filter((chart) => chart.curves.length);
    const same =
      names(part).join() === names(fresh).join() &&
      curves === drawn.map((chart) => chart.curves.length).join();
    if (!same) {
      find(".charts", part).replaceWith(document.adoptNode(find(".charts", fresh)));
      drawCharts();
      return;
    }
    plots.forEach((plot, number) => {
      plot.chart = drawn[number];
      plot.setData(joined(drawn[number]), range === null);
      tell(plot);
    });
    zoom(range, find('[data-range][aria-pressed="true"]')?.dataset.range);
  }

  function replaceFolded(part, fresh) {
    const open = all("details", part).map((details) => details.open);
    const adopted = document.adoptNode(fresh);
    all("details", adopted).forEach((details, number) => {
      if (number in open) details.open = open[number];
    });
    part.replaceWith(adopted);
  }

  function readPage(page) {
    const read = readData(page);
    read.compares = Boolean(find("#runs", page));
    return read;
  }

  data = readPage(document);
  readyTheme();
  drawCharts();
  readyAnswers();
  new ResizeObserver(resize).observe(document.body);
  if ("live" in document.body.dataset) ask();
})();
