// What makes a page handy: sorted and filtered tables, one layer at a time, dark and light.
//
// Without it everything is there to read, one below the other.
"use strict";
(() => {
  const root = document.documentElement;

  // --- theme -------------------------------------------------------------------------------------

  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");

  /** Whether the page is dark: what the reader chose, else what the system says. */
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : night.matches;
  }

  function showTheme() {
    button.setAttribute("aria-pressed", String(isDark()));
  }

  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("nestmap-theme", root.dataset.theme);
    } catch {
      // not remembered then
    }
    showTheme();
    document.dispatchEvent(new CustomEvent("nestmap-theme"));
  });
  night.addEventListener("change", showTheme);
  showTheme();

  let chosen; // on paper everything is light; afterwards as it was
  window.addEventListener("beforeprint", () => {
    chosen = root.dataset.theme;
    root.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => {
    if (chosen === undefined) delete root.dataset.theme;
    else root.dataset.theme = chosen;
    document.dispatchEvent(new CustomEvent("nestmap-theme"));
  });

  // --- exact figures -----------------------------------------------------------------------------

  document.addEventListener("pointerover", ({ target }) => {
    const cell = target.closest("[data-value]");
    if (cell && !cell.title) cell.title = `exactly ${cell.dataset.value}`;
  });

  // --- sorted tables -----------------------------------------------------------------------------

  /** What a cell sorts by: its exact figure, else its text; nothing comes last. */
  function keyOf(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return cell.classList.contains("text") ? cell.textContent.trim() : null;
  }

  /** Compares two keys; names with numbers in them by these. */
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, key: keyOf(row, column) }));
    const missing = ({ key }) => key === null || key === "" || key === "\u2013";
    rows.sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      return descending ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    body.append(...rows.map(({ row }) => row));
    for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
      if (place === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  function makeSortable(table) {
    for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
      if (head.classList.contains("bar")) continue;
      const handle = document.createElement("button");
      handle.type = "button";
      handle.append(...head.childNodes);
      head.append(handle);
      const largestFirst = head.classList.contains("number") && column > 0;
      handle.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(table, column, now ? now === "ascending" : largestFirst);
      });
    }
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  // what comes into the page later: the answers of the explorer
  document.addEventListener("nestmap-added", ({ target }) => {
    target.querySelectorAll("table.sortable").forEach(makeSortable);
  });

  // --- filtered tables ---------------------------------------------------------------------------

  for (const form of document.querySelectorAll("form.filter")) {
    const rows = [...document.getElementById(form.dataset.table).tBodies[0].rows];
    const { text, group, different } = form.elements;
    const found = form.querySelector("output");
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

    const filter = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        row.hidden =
          !words.every((word) => texts.get(row).includes(word)) ||
          Boolean(group?.value && row.dataset.group !== group.value) ||
          Boolean(different?.checked && row.dataset.repeats !== undefined);
        shown += !row.hidden;
      }
      found.value = `${shown} of ${rows.length} shown`;
    };

    const groups = new Set(rows.map((row) => row.dataset.group).filter(Boolean));
    if (group) group.append(...[...groups].sort().map((name) => new Option(name, name)));
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  // --- one of several at a time: runs, layers of a run ----------------------------------------------

  const groups = [...document.querySelectorAll(".panes")];
  const panesOf = (group) => [...group.children].filter((child) => child.matches(".pane"));

  function show(group, pane) {
    for (const other of panesOf(group)) other.hidden = other !== pane;
    const select = group.parentElement.querySelector(":scope > .switch select");
    if (!select) return;
    select.value = `#${pane.id}`;
    const [previous, next] = group.parentElement.querySelectorAll(":scope > .switch button");
    previous.disabled = pane === panesOf(group)[0];
    next.disabled = pane === panesOf(group).at(-1);
  }

  /** The element that the address names, if it is in the page. */
  function target() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null; // the address is not well-formed
    }
  }

  /** Shows the panes around what the address names; of other groups what was shown. */
  function followAddress() {
    const wanted = target();
    for (const group of groups) {
      const panes = panesOf(group);
      const pane = wanted && panes.find((candidate) => candidate.contains(wanted));
      const shown = panes.find((candidate) => !candidate.hidden && group.dataset.ready);
      const first = panes.find((candidate) => "first" in candidate.dataset) ?? panes[0];
      if (first) show(group, pane || shown || first);
      group.dataset.ready = "yes";
    }
    for (const link of document.querySelectorAll(".bar-top nav a, nav.parts a")) {
      if (link.hash === location.hash && location.hash) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    return wanted;
  }

  for (const group of groups) {
    const bar = group.parentElement.querySelector(":scope > .switch");
    if (!bar) continue;
    const panes = panesOf(group);
    const select = bar.querySelector("select");
    select.append(...panes.map((pane) => new Option(pane.dataset.name, `#${pane.id}`)));
    select.addEventListener("change", () => (location.hash = select.value));
    const step = (by) => () => {
      const now = panes.findIndex((pane) => !pane.hidden);
      const next = panes[now + by];
      if (next) location.hash = next.id;
    };
    const [previous, next] = bar.querySelectorAll("button");
    previous.addEventListener("click", step(-1));
    next.addEventListener("click", step(1));
  }

  window.addEventListener("hashchange", () => {
    const wanted = followAddress();
    if (!wanted) return;
    wanted.scrollIntoView(); // it may have been hidden when the browser looked for it
    const active = document.activeElement;
    if (active?.closest(".switch")) return; // whoever steps through layers goes on with that
    const title = wanted.matches(".pane.layer") ? wanted.querySelector("h3") : null;
    title?.focus({ preventScroll: true });
  });
  const wanted = followAddress();
  if (wanted) wanted.scrollIntoView();
})();
