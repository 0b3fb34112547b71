// Draws each chart of the page when it comes into sight, in the colours of the page.
//
// A chart is <figure class="chart" data-chart="NAME"> with <div class="vega"> and its Vega-Lite
// specification in <script type="application/json" class="spec">. Once drawn, the figure has the
// class "drawn" and the property nestmapView (a vega.View). Needs vegaEmbed (vega_script()).
"use strict";
(() => {
  const BLIND_WIDTH = 640; // of what is drawn while it is hidden, so that it can be printed
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

  /** Vega-Lite's configuration for a figure: fonts and colours are those of the page. */
  function configuration(figure, { columns, names }) {
    const { color: ink, fontFamily: font } = getComputedStyle(figure);
    const text = { labelColor: ink, titleColor: ink, labelFont: font, titleFont: font };
    const lines = { gridColor: ink, gridOpacity: 0.15, domainColor: ink, domainOpacity: 0.5 };
    return {
      background: paper(figure),
      font,
      view: { stroke: null },
      axis: {
        ...text, ...lines, labelFontSize: 11, titleFontSize: 12, titleFontWeight: 600,
        titlePadding: 8, tickColor: ink, tickOpacity: 0.5,
      },
      axisY: { labelLimit: Math.max(names, 50) },
      legend: { ...text, labelFontSize: 12, symbolStrokeColor: ink, symbolStrokeWidth: 0.6, columns },
      bar: { stroke: ink, strokeWidth: 0.6, strokeOpacity: 0.45 },
      style: { ink: { stroke: ink, color: ink }, outlined: { stroke: ink, strokeWidth: 0.6 } },
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

  /** Draws a chart, unless it is there as it should be. */
  async function draw(figure) {
    const place = figure.querySelector(".vega");
    const spec = JSON.parse(figure.querySelector("script.spec").textContent);
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
      figure.classList.add("drawn");
    } catch (error) {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
    }
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
  for (const figure of every) watch.observe(figure);

  document.addEventListener("nestmap-theme", () => drawAll(inSight));
  night.addEventListener("change", () => drawAll(inSight));
  window.addEventListener("resize", () => drawAll(inSight));
  window.addEventListener("beforeprint", () => drawAll(every));
})();
