// Draws each chart of the page when it comes into sight, in the colours of the page.
//
// A chart is <figure class="chart" data-chart="NAME"> with <div class="vega"> and its Vega-Lite
// specification in <script type="application/json" class="spec">. Once drawn, the figure has the
// class "drawn" and the property nestmapView (a vega.View). Needs vegaEmbed (vega_script()).
// Charts over a time in a section of class "times" show the same part of it.
"use strict";
(() => {
  const BLIND_WIDTH = 640; // of what is drawn while it is hidden, so that it can be printed
  const BESIDE = 130; // pixels above and below a chart: legend, axis, the button
  const SAVE = "Save this chart";
  const looks = new Map(); // figure -> how it is drawn
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  let queue = Promise.resolve(); // one after the other: a page with many stays responsive

  /** Whether the page is dark: what the reader chose, else what the system says. */
  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen === "dark" || (chosen !== "light" && night.matches);
  }

  /** The first background behind an element that is not transparent. */
  function paper(element) {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== "transparent" && !/^rgba\(.*, 0\)$/.test(color)) return color;
    }
    return "#ffffff";
  }

  /** What the page adds to a chart's configuration: its fonts and colours. */
  function configuration(figure, { columns, names }) {
    const { color: ink, fontFamily: font } = getComputedStyle(figure);
    const text = { labelColor: ink, titleColor: ink, labelFont: font, titleFont: font };
    return {
      background: paper(figure),
      font,
      axis: { ...text, gridColor: ink, domainColor: ink, tickColor: ink },
      axisY: { labelLimit: Math.max(names, 50) },
      legend: { ...text, symbolBaseFillColor: ink, columns },
      bar: { stroke: ink },
      style: { ink: { stroke: ink, color: ink }, outlined: { stroke: ink } },
    };
  }

  /** How a chart is to be drawn now; one that is hidden has no width. */
  function lookOf(width, { legendLetters, axisLetters }) {
    const names = Math.min(8 * axisLetters, Math.max(80, 0.3 * (width || BLIND_WIDTH)));
    const room = (width || BLIND_WIDTH) - names - 60; // beside names and the button
    const columns = Math.max(1, Math.floor(room / (7 * legendLetters + 25)));
    return { dark: isDark(), hidden: width === 0, columns, names };
  }

  /** Whether what is drawn will do, though it should be in another way. */
  function stillGood(last, look) {
    if (!last || last.dark !== look.dark) return false;
    return look.hidden || (!last.hidden && last.columns === look.columns);
  }

  const specOf = (figure) => JSON.parse(figure.querySelector("script.spec").textContent);

  /** Reserves the height of a chart: what is below must not move when it is drawn. */
  function reserve(figure) {
    figure.querySelector(".vega").style.minHeight = `${specOf(figure).height + BESIDE}px`;
  }

  /** Draws a chart, unless it is there as it should be. */
  async function draw(figure) {
    const place = figure.querySelector(".vega");
    const spec = specOf(figure);
    const look = lookOf(place.clientWidth, spec.usermeta);
    if (stillGood(looks.get(figure), look)) return;
    looks.set(figure, look);
    for (const parameter of spec.params) if (parameter.name === "dark") parameter.value = look.dark;
    if (look.hidden) spec.width = BLIND_WIDTH;
    if (figure.nestmapView) figure.nestmapView.finalize();
    try {
      const result = await vegaEmbed(place, spec, {
        mode: "vega-lite",
        renderer: "svg",
        ast: true, // expressions are interpreted: no eval, which the page forbids
        actions: { export: true, source: false, compiled: false, editor: false },
        i18n: { CLICK_TO_VIEW_ACTIONS: SAVE },
        downloadFileName: figure.dataset.chart,
        tooltip: { theme: look.dark ? "dark" : "light" },
        config: configuration(figure, look),
      });
      figure.nestmapView = result.view;
      place.querySelector("summary").setAttribute("aria-label", SAVE);
      if (spec.usermeta.time) share(figure);
      figure.classList.add("drawn");
      markIn(figure);
    } catch (error) {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
    }
  }

  // --- charts over the same time -----------------------------------------------------------------

  const shown = new Map(); // section -> from when to when its charts show; without: all of the time

  const timesOf = (home) => Number(home.querySelector(".time").dataset.latency);

  /** Whether two spans are the same, but for what is lost in whole pixels. */
  function same(one, other, all) {
    if (!one || !other) return !one && !other;
    return one.every((time, i) => Math.abs(time - other[i]) < all * 1e-6);
  }

  /** Whether readers choose a time in a chart by dragging over it; else they move what it shows. */
  function isBrush(view) {
    const signals = (name) => name === "zoom_x";
    return "zoom_x" in view.getState({ signals, data: () => false }).signals;
  }

  /** Lets a chart show a span. */
  function follow(view, span, all) {
    if (same(view.signal("zoom_start"), span, all)) return;
    if (isBrush(view)) view.signal("zoom_x", span ? span.map(view.scale("x")) : [0, 0]);
    else view.signal("zoom_start", span);
    view.runAsync();
  }

  /** Lets all charts of a section show a span; null: all of the time. */
  function showSpan(home, span) {
    const all = timesOf(home);
    if (same(shown.get(home), span, all)) return;
    shown.set(home, span);
    for (const { nestmapView } of home.querySelectorAll("figure.drawn")) {
      follow(nestmapView, span, all);
    }
    tellSpan(home);
  }

  function tellSpan(home) {
    const [from, to] = shown.get(home) ?? [0, timesOf(home)];
    const text = (time) => Math.round(time).toLocaleString("en");
    home.querySelector(".time output").value = `cycles ${text(from)} to ${text(to)}`;
  }

  /** Connects a chart that has just been drawn with the others of its section. */
  function share(figure) {
    const home = figure.closest(".times");
    if (!home) return;
    const view = figure.nestmapView;
    for (const brush of figure.querySelectorAll("[class*='zoom_brush']")) {
      brush.setAttribute("aria-hidden", "true"); // it says nothing; the buttons do what it does
    }
    follow(view, shown.get(home) ?? null, timesOf(home));
    view.addSignalListener("zoom_start", (_, span) => showSpan(home, span ?? null));
  }

  /** The span after a step of a kind, within all of the time. */
  function stepped([from, to], kind, all) {
    const width = to - from;
    const wide = { in: width / 2, out: width * 2, all }[kind] ?? width;
    if (wide >= all) return null;
    const move = { earlier: -width / 2, later: width / 2 }[kind] ?? (width - wide) / 2;
    const start = Math.min(Math.max(from + move, 0), all - wide);
    return [start, start + Math.max(wide, 1)];
  }

  for (const bar of document.querySelectorAll(".times .time")) {
    const home = bar.closest(".times");
    bar.addEventListener("click", ({ target }) => {
      const kind = target.closest("button")?.dataset.step;
      const all = timesOf(home);
      if (kind) showSpan(home, stepped(shown.get(home) ?? [0, all], kind, all));
    });
    tellSpan(home);
  }

  // --- charts and tables of the same designs -------------------------------------------------------

  const marked = new Map(); // section -> numbers of the designs that are marked

  /** Shows in all charts and tables of a section which designs are marked. */
  function showMarked(home) {
    const chosen = [...marked.get(home)].sort((a, b) => a - b);
    for (const { nestmapView } of home.querySelectorAll("figure.drawn")) {
      nestmapView.signal("chosen", chosen).runAsync();
    }
    for (const row of home.querySelectorAll("table.sortable tbody tr")) {
      row.classList.toggle("marked", chosen.includes(Number(row.cells[0].dataset.value)));
    }
    home.querySelector(".unmark").disabled = !chosen.length;
    const told = chosen.length ? `design ${chosen.join(", ")} marked` : "no design marked";
    home.querySelector(".switch output").value = told;
  }

  /** Marks a design, or no longer. */
  function mark(home, design) {
    const chosen = marked.get(home);
    if (!chosen.delete(design)) chosen.add(design);
    showMarked(home);
  }

  /** Connects a chart that has just been drawn with the table and the other charts. */
  function markIn(figure) {
    const home = figure.closest(".designs");
    if (!home) return;
    figure.nestmapView.addEventListener("click", (_, item) => {
      if (item?.datum?.design !== undefined) mark(home, item.datum.design);
    });
    if (marked.get(home).size) showMarked(home);
  }

  for (const home of document.querySelectorAll(".designs")) {
    marked.set(home, new Set());
    home.querySelector(".unmark").addEventListener("click", () => {
      marked.get(home).clear();
      showMarked(home);
    });
    home.querySelector("table.sortable tbody").addEventListener("click", ({ target }) => {
      const row = target.closest("tr");
      if (row && !target.closest("a")) mark(home, Number(row.cells[0].dataset.value));
    });
  }

  /** Draws charts, each after those that are being drawn. */
  function drawAll(figures) {
    for (const figure of figures) queue = queue.then(() => draw(figure));
  }

  const inSight = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) inSight.add(target);
        else inSight.delete(target);
      }
      drawAll(inSight);
    },
    { rootMargin: "200px" }, // a little before it is seen
  );
  const every = document.querySelectorAll("figure.chart");
  for (const figure of every) reserve(figure);
  for (const figure of every) watch.observe(figure);

  document.addEventListener("nestmap-theme", () => drawAll(inSight));
  night.addEventListener("change", () => drawAll(inSight));
  window.addEventListener("resize", () => drawAll(inSight));
  window.addEventListener("beforeprint", () => drawAll(every));
})();
