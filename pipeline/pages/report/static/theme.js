// Sets the theme before anything is drawn, and says that there are scripts.
//
// <html data-theme="dark|light"> where the reader has chosen one; else the system decides. What was
// chosen is remembered where the browser keeps anything for this page.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const chosen = localStorage.getItem("nestmap-theme");
    if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  } catch {
    // a browser may forbid it, for pages from disk above all
  }
})();
